import { MemoryEventPurger } from '../memory/index.js';
import { EventStatus } from '../model/event-status.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import { Outbox } from './outbox.js';

type Mode = 'singleNode' | 'multiNode' | 'ordered' | 'writerOnly';

describe('Outbox', () => {
  let setup: OutboxSetup;
  let order: string[];
  beforeEach(() => {
    setup = new OutboxSetup();
    order = [];
    setup.registry.register('A', { onEvent: (event) => void order.push(event.eventId) });
  });

  const common = <B extends ReturnType<(typeof Outbox)[Mode]>>(builder: B): B =>
    builder
      .connectionProvider(setup.database)
      .txContext(setup.tx)
      .outboxStore(setup.store)
      .listenerRegistry(setup.registry)
      .metrics(setup.metrics)
      .logger(setup.logger)
      .runtime(setup.runtime) as B;

  const write = (outbox: Outbox, ...ids: readonly string[]): Promise<unknown> =>
    setup.tx.inTransaction(() => outbox.writer.writeAll(ids.map((id) => setup.event(id))));

  it('singleNode dispatches at commit, without a poll', async () => {
    await using outbox = common(Outbox.singleNode()).build();
    await setup.settle();
    await write(outbox, 'e1');
    await setup.settle();
    expect(order).toEqual(['e1']);
    expect(setup.status('e1')).toBe(EventStatus.DONE);
    expect(setup.counts).toMatchObject({ incrementHotEnqueued: 1 });
  });

  it('singleNode finds with a poll what the hot queue did not take, and write does not throw', async () => {
    await using outbox = common(Outbox.singleNode()).workerCount(1).hotQueueCapacity(1).build();
    await setup.settle();
    await write(outbox, 'e1', 'e2', 'e3', 'e4');
    await setup.settle();
    expect(order.length).toBeLessThan(4);
    expect(setup.counts.incrementHotDropped).toBeGreaterThan(0);
    expect(setup.lines[0]).toMatch(/^warn The hot queue took/);
    await setup.advance(5_000);
    expect([...order].sort()).toEqual(['e1', 'e2', 'e3', 'e4']);
  });

  it('keeps events in the table while all listeners hang, with bounded queues', async () => {
    setup.registry.register('STUCK', { onEvent: () => new Promise(() => undefined) });
    const outbox = common(Outbox.singleNode()).hotQueueCapacity(5).coldQueueCapacity(5).build();
    const events = Array.from({ length: 100 }, (_, index) =>
      setup.event(`s${index}`, { eventType: 'STUCK' }),
    );
    await setup.tx.inTransaction(() => outbox.writer.writeAll(events));
    await setup.advance(20_000);
    expect(
      [...setup.database.rows.values()].every(({ status }) => status === EventStatus.NEW),
    ).toBe(true);
    expect(setup.counts.recordQueueDepths).toBeLessThanOrEqual(5);
    const closed = outbox.close();
    await setup.advance(5_000);
    await closed;
  });

  it('multiNode claims what it polls, for an owner of its own', async () => {
    const claim = jest.spyOn(setup.store, 'claimPending');
    await using outbox = common(Outbox.multiNode()).claimLocking(30_000).build();
    await setup.settle();
    await write(outbox, 'e1');
    await setup.settle();
    expect(order).toEqual(['e1']);
    expect(claim.mock.calls[0]?.[1]).toMatch(new RegExp(`-${process.pid}-`));
  });

  it('multiNode takes a given owner id, and is not built without claimLocking', async () => {
    expect(() => common(Outbox.multiNode()).build()).toThrow(
      expect.objectContaining({ code: 'ILLEGAL_STATE' }),
    );
    const claim = jest.spyOn(setup.store, 'claimPending');
    const outbox = common(Outbox.multiNode()).claimLocking('node-1', 30_000).build();
    await setup.settle();
    await outbox.close();
    expect(claim.mock.calls[0]?.[1]).toBe('node-1');
  });

  it('ordered dispatches 1,000 events of one millisecond in the order of their insertion', async () => {
    const events = Array.from({ length: 1_000 }, () =>
      setup.event(undefined as never, { aggregateId: 'x' }),
    );
    setup.registry.register('ORDER', 'A', { onEvent: (event) => void order.push(event.eventId) });
    await using outbox = common(Outbox.ordered()).batchSize(300).build();
    await setup.tx.inTransaction(() => outbox.writer.writeAll(events));
    while (order.length < 1_000) await setup.advance(5_000);
    expect(order).toEqual(events.map(({ eventId }) => eventId));
  });

  it('ordered has no hot path and makes a failed event DEAD at once', async () => {
    setup.registry.register('B', { onEvent: () => Promise.reject(new Error('no')) });
    await using outbox = common(Outbox.ordered()).build();
    await setup.settle();
    await setup.tx.inTransaction(() =>
      outbox.writer.writeAll([setup.event('b1', { eventType: 'B' }), setup.event('e2')]),
    );
    await setup.settle();
    expect(order).toEqual([]);
    await setup.advance(5_000);
    expect([setup.status('b1'), setup.status('e2')]).toEqual([EventStatus.DEAD, EventStatus.DONE]);
    expect('workerCount' in Outbox.ordered()).toBe(false);
    expect('maxAttempts' in Outbox.ordered()).toBe(false);
  });

  it('writerOnly needs a transaction context and a store, and never dispatches', async () => {
    await using outbox = Outbox.writerOnly().txContext(setup.tx).outboxStore(setup.store).build();
    await write(outbox, 'e1');
    await setup.advance(60_000);
    expect(order).toEqual([]);
    expect(setup.status('e1')).toBe(EventStatus.NEW);
    expect([setup.lines, setup.counts]).toEqual([[], {}]);
  });

  it('writerOnly purges by age if it has a purger', async () => {
    await setup.insert('e1');
    await setup.advance(2_000);
    const outbox = common(Outbox.writerOnly())
      .purger(new MemoryEventPurger(setup.database, 'age'))
      .purgeRetention(1_000)
      .purgeBatchSize(10)
      .purgeIntervalSeconds(60)
      .build();
    await setup.settle();
    await outbox.close();
    expect(setup.database.rows.size).toBe(0);
    const withoutProvider = Outbox.writerOnly()
      .txContext(setup.tx)
      .outboxStore(setup.store)
      .purger(new MemoryEventPurger(setup.database, 'age'));
    expect(() => withoutProvider.build()).toThrow('connectionProvider');
  });

  it.each(['connectionProvider', 'txContext', 'outboxStore', 'listenerRegistry'] as const)(
    'is not built without %s',
    (field) => {
      const builder = common(Outbox.singleNode());
      builder[field](undefined as never);
      expect(() => builder.build()).toThrow(TypeError);
      expect(() => builder.build()).toThrow(field);
    },
  );

  it('closes the dispatcher if the poller cannot be built', () => {
    const { OutboxDispatcher } = jest.requireActual('../dispatch/outbox-dispatcher.js');
    const close = jest.spyOn(OutboxDispatcher.prototype, 'close');
    expect(() => common(Outbox.singleNode()).batchSize(0).build()).toThrow('batchSize');
    expect(close).toHaveBeenCalledTimes(1);
    close.mockRestore();
  });

  it('closes purge scheduler, poller and dispatcher in this order, once, also if one fails', async () => {
    const closed: string[] = [];
    const part = (name: string): { close: () => Promise<void> } => ({
      close: () => {
        closed.push(name);
        return name === 'poller' ? Promise.reject(new Error('no')) : Promise.resolve();
      },
    });
    const outbox = new Outbox({
      writer: {} as never,
      dispatcher: part('dispatcher'),
      poller: part('poller'),
      purgeScheduler: part('purgeScheduler'),
    });
    await expect(outbox.close()).rejects.toThrow(AggregateError);
    await expect(outbox.close()).rejects.toThrow(AggregateError);
    expect(closed).toEqual(['purgeScheduler', 'poller', 'dispatcher']);
  });
});
