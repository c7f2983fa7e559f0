import { MemoryEventPurger } from '../memory/index.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import {
  OutboxPurgeScheduler,
  type OutboxPurgeSchedulerBuilder,
} from './outbox-purge-scheduler.js';

const DAY = 86_400_000;

describe('OutboxPurgeScheduler', () => {
  let setup: OutboxSetup;
  beforeEach(() => (setup = new OutboxSetup()));

  const builder = (): OutboxPurgeSchedulerBuilder =>
    OutboxPurgeScheduler.builder()
      .connectionProvider(setup.database)
      .purger(new MemoryEventPurger(setup.database, 'age'))
      .logger(setup.logger)
      .runtime(setup.runtime);

  it.each(['connectionProvider', 'purger'] as const)('is not built without %s', (field) => {
    const incomplete = builder();
    incomplete[field](undefined as never);
    expect(() => incomplete.build()).toThrow(field);
  });

  it('deletes what is older than 7 days, and computes the limit in each cycle', async () => {
    await setup.insert('e1');
    const scheduler = builder().build();
    await setup.advance(7 * DAY);
    expect(await scheduler.runOnce()).toBe(0);
    await setup.advance(1);
    expect(await scheduler.runOnce()).toBe(1);
    expect(setup.lines).toEqual([
      'log The outbox purge deleted 0 events.',
      'log The outbox purge deleted 1 events.',
    ]);
  });

  it('names in the log what it purges', async () => {
    const scheduler = new OutboxPurgeScheduler({
      connectionProvider: setup.database,
      purger: new MemoryEventPurger(setup.database, 'age'),
      logger: setup.logger,
      runtime: setup.runtime,
      name: 'inbox',
    });
    await scheduler.runOnce();
    expect(setup.lines).toEqual(['log The inbox purge deleted 0 events.']);
  });

  it('deletes in batches, each on a connection of its own, until one is not full', async () => {
    await setup.insert(...Array.from({ length: 1_100 }, (_, index) => `e${index}`));
    await setup.advance(8 * DAY);
    const connections = jest.spyOn(setup.database, 'getConnection');
    expect(await builder().build().runOnce()).toBe(1_100);
    expect(connections).toHaveBeenCalledTimes(3);
  });

  it('runs at the start and each hour', async () => {
    const purge = jest.fn().mockResolvedValue(0);
    const scheduler = builder().purger({ kind: 'status', purge }).build();
    scheduler.start();
    await setup.settle();
    expect(purge).toHaveBeenCalledTimes(1);
    await setup.advance(3_599_999);
    expect(purge).toHaveBeenCalledTimes(1);
    await setup.advance(1);
    expect(purge).toHaveBeenCalledTimes(2);
    await scheduler.close();
    await setup.advance(DAY);
    expect(purge).toHaveBeenCalledTimes(2);
  });

  it('logs an error as SEVERE and does not reject', async () => {
    const purge = jest.fn().mockResolvedValueOnce(500).mockRejectedValue(new Error('secret'));
    expect(await builder().purger({ kind: 'status', purge }).build().runOnce()).toBe(500);
    expect(setup.lines).toEqual([expect.stringMatching(/^fatal SEVERE: .* after 500 events/)]);
  });

  it('cannot start after close', async () => {
    const scheduler = builder().build();
    await scheduler.close();
    expect(() => scheduler.start()).toThrow(expect.objectContaining({ code: 'ILLEGAL_STATE' }));
  });

  it('never keeps the process alive', async () => {
    const setTimer = jest.spyOn(setup.runtime, 'setTimer');
    const scheduler = builder().retention(DAY).batchSize(2).intervalSeconds(60).build();
    scheduler.start();
    await setup.settle();
    expect(setTimer.mock.calls).toEqual([[expect.any(Function), 60_000, { background: true }]]);
    await scheduler.close();
  });
});
