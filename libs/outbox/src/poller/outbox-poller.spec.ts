import { EventStatus } from '../model/event-status.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import { newOwnerId } from './owner-id.js';
import { OutboxPoller } from './outbox-poller.js';
import type { OutboxPollerHandler } from './outbox-poller-handler.js';

describe('OutboxPoller', () => {
  let setup: OutboxSetup;
  let handled: string[];
  beforeEach(() => {
    setup = new OutboxSetup();
    handled = [];
  });

  const builder = (
    handler?: Partial<OutboxPollerHandler>,
  ): ReturnType<typeof OutboxPoller.builder> =>
    OutboxPoller.builder()
      .connectionProvider(setup.database)
      .outboxStore(setup.store)
      .handler({ handle: (event) => handled.push(event.eventId) > 0, ...handler })
      .metrics(setup.metrics)
      .logger(setup.logger)
      .runtime(setup.runtime);

  it.each(['connectionProvider', 'outboxStore', 'handler'] as const)(
    'is not built without %s',
    (field) => {
      const incomplete = builder();
      incomplete[field](undefined as never);
      expect(() => incomplete.build()).toThrow(field);
    },
  );

  it('polls at the start and at each interval, 50 events at a time', async () => {
    await setup.insert(...Array.from({ length: 60 }, (_, index) => `e${index + 10}`));
    const poller = builder().build();
    poller.start();
    await setup.settle();
    expect(handled).toHaveLength(50);
    await setup.advance(4_999);
    expect(handled).toHaveLength(50);
    await setup.advance(1);
    expect(handled).toHaveLength(100);
    await poller.close();
    await setup.advance(60_000);
    expect(handled).toHaveLength(100);
  });

  it('polls at once when it is woken, and again if that is during a cycle', async () => {
    const poller = builder().build();
    poller.start();
    await setup.settle();
    await setup.insert('e1');
    poller.wake();
    await setup.settle();
    expect(handled).toEqual(['e1']);
    const poll = jest.spyOn(setup.store, 'pollPending');
    poller.wake();
    poller.wake();
    poller.wake();
    await setup.settle();
    expect(poll).toHaveBeenCalledTimes(2);
    await poller.close();
    poller.wake();
    await setup.settle();
    expect(poll).toHaveBeenCalledTimes(2);
  });

  it('cannot start after close', async () => {
    const poller = builder().build();
    await poller.close();
    expect(() => poller.start()).toThrow(expect.objectContaining({ code: 'ILLEGAL_STATE' }));
  });

  it('passes the envelope with tenant and headers, and the attempts of the row', async () => {
    const handle = jest.fn().mockReturnValue(true);
    const { connection } = await setup.database.getConnection();
    const event = setup.event('e1', { tenantId: 't-1', headers: { a: 'b' }, aggregateId: 'x' });
    await setup.store.insertNew(connection, event);
    await setup.store.markRetry(connection, 'e1', setup.runtime.now(), 'x');
    await builder({ handle }).build().poll();
    const [passed, attempts] = handle.mock.calls[0];
    expect(passed).toMatchObject({
      eventId: 'e1',
      tenantId: 't-1',
      aggregateId: 'x',
      payloadJson: '1',
    });
    expect([...passed.headers]).toEqual([['a', 'b']]);
    expect(attempts).toBe(1);
  });

  it('leaves out events that are younger than skipRecent', async () => {
    await setup.insert('e1');
    const poller = builder().skipRecent(1_000).build();
    await poller.poll();
    expect(handled).toEqual([]);
    await setup.advance(1_000);
    await poller.poll();
    expect(handled).toEqual(['e1']);
  });

  it('skips the cycle if the handler has no capacity, and reads no more than that', async () => {
    await setup.insert('e1', 'e2', 'e3');
    const read = jest.spyOn(setup.store, 'pollPending');
    await builder({ availableCapacity: () => 0 })
      .build()
      .poll();
    expect(read).not.toHaveBeenCalled();
    await builder({ availableCapacity: () => 2 })
      .build()
      .poll();
    expect(handled).toEqual(['e1', 'e2']);
  });

  it('stops the cycle when the handler returns false, and reads the rest in the next one', async () => {
    await setup.insert('e1', 'e2', 'e3');
    const handle = jest.fn().mockReturnValueOnce(true).mockReturnValueOnce(false);
    await builder({ handle }).build().poll();
    expect(handle).toHaveBeenCalledTimes(2);
    await builder().build().poll();
    expect(handled).toEqual(['e1', 'e2', 'e3']);
  });

  it('makes an event with malformed headers DEAD, logs it as SEVERE and goes on', async () => {
    await setup.insert('e1', 'e2');
    const row = setup.database.rows.get('e1');
    if (row) row.headersJson = '{secret';
    await builder().build().poll();
    expect(handled).toEqual(['e2']);
    expect(row?.status).toBe(EventStatus.DEAD);
    expect(setup.lines).toEqual([expect.stringMatching(/^fatal SEVERE: event e1/)]);
    expect(setup.lines.join()).not.toContain('secret');
  });

  it('never runs two cycles at once', async () => {
    await setup.insert('e1');
    const read = jest.spyOn(setup.store, 'pollPending');
    const poller = builder().build();
    await Promise.all([poller.poll(), poller.poll(), poller.poll()]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('logs an error of the database and polls again at the next interval', async () => {
    await setup.insert('e1');
    jest.spyOn(setup.store, 'pollPending').mockRejectedValueOnce(new Error('secret'));
    const poller = builder().build();
    poller.start();
    await setup.settle();
    expect(setup.lines).toEqual([expect.stringMatching(/^error A poll of the outbox failed/)]);
    expect(setup.lines.join()).not.toContain('secret');
    await setup.advance(5_000);
    expect(handled).toEqual(['e1']);
    await poller.close();
  });

  it('claims for its owner with claimLocking, and again after the timeout', async () => {
    await setup.insert('e1');
    const claim = (owner: string): Promise<void> =>
      builder().claimLocking(owner, 30_000).build().poll();
    await claim('first');
    await claim('second');
    expect(handled).toEqual(['e1']);
    expect(setup.database.rows.get('e1')?.lockedBy).toBe('first');
    await setup.advance(30_001);
    await claim('second');
    expect(handled).toEqual(['e1', 'e1']);
  });

  it('records the age of the oldest event', async () => {
    await setup.insert('e1');
    await setup.advance(2_500);
    await builder().build().poll();
    expect(setup.counts.recordOldestLagMs).toBe(2_500);
  });
});

describe('newOwnerId()', () => {
  it('has host name, process and a UUID, and fits its column', () => {
    const { runtime } = new OutboxSetup();
    jest.spyOn(runtime, 'hostname').mockReturnValue('h'.repeat(200));
    const id = newOwnerId(runtime);
    expect(id).toMatch(new RegExp(`^h+-${process.pid}-[0-9a-f-]{36}$`));
    expect(id).toHaveLength(128);
  });
});
