import { EventStatus } from '../model/event-status.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import { DeadEventManager } from './dead-event-manager.js';

describe('DeadEventManager', () => {
  let setup: OutboxSetup;
  let manager: DeadEventManager;
  beforeEach(async () => {
    setup = new OutboxSetup();
    manager = new DeadEventManager(setup.database, setup.store, setup);
    await setup.insert('e1', 'e2', 'e3');
    for (const id of ['e1', 'e2']) await setup.store.markDead({}, id, 'x');
  });

  const breakStore = (method: 'queryDead' | 'replayDead' | 'countDead'): jest.SpyInstance =>
    jest.spyOn(setup.store, method).mockRejectedValue(new Error('secret'));

  it('lists and counts DEAD events', async () => {
    expect((await manager.query()).map(({ eventId }) => eventId)).toEqual(['e1', 'e2']);
    expect(await manager.query({ eventType: 'B' })).toEqual([]);
    expect(await manager.query({}, 1)).toHaveLength(1);
    expect([await manager.count(), await manager.count('B')]).toEqual([2, 0]);
  });

  it('replays one event, and returns false if it is not DEAD', async () => {
    expect(await manager.replay('e1')).toBe(true);
    expect(setup.status('e1')).toBe(EventStatus.NEW);
    expect(await manager.replay('e1')).toBe(false);
  });

  it('replays all in batches', async () => {
    expect(await manager.replayAll({}, 1)).toBe(2);
    expect(await manager.count()).toBe(0);
  });

  it('ends replayAll although the replayed events die again at once', async () => {
    const replay = setup.store.replayDead.bind(setup.store);
    jest.spyOn(setup.store, 'replayDead').mockImplementation(async (connection, id, now) => {
      const changed = await replay(connection, id, now);
      await setup.store.markDead(connection, id, 'again');
      return changed;
    });
    expect(await manager.replayAll({}, 1)).toBe(2);
  });

  it('logs an error of the database as SEVERE, and returns nothing, false or 0', async () => {
    for (const method of ['queryDead', 'replayDead', 'countDead'] as const) breakStore(method);
    expect([await manager.query(), await manager.replay('e1'), await manager.count()]).toEqual([
      [],
      false,
      0,
    ]);
    expect(setup.lines).toHaveLength(3);
    expect(setup.lines.every((line) => line.startsWith('fatal SEVERE'))).toBe(true);
    expect(setup.lines.join()).not.toContain('secret');
  });

  it('returns the number so far if the database fails during replayAll', async () => {
    const replay = setup.store.replayDead.bind(setup.store);
    jest
      .spyOn(setup.store, 'replayDead')
      .mockImplementationOnce(replay)
      .mockRejectedValue(new Error('secret'));
    expect(await manager.replayAll()).toBe(1);
    expect(await manager.count()).toBe(1);
  });
});
