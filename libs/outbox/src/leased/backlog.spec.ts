import { Outbox } from '../api/outbox.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';

const EVENTS = 10_000;
const KEYS = 1_000;
const BATCH = 500;

describe('The backlog of the leased mode', () => {
  let setup: OutboxSetup;
  let outbox: Outbox | undefined;
  let handled: number;
  let claims: number[];

  beforeEach(async () => {
    setup = new OutboxSetup();
    handled = 0;
    claims = [];
    const { connection } = await setup.database.getConnection();
    const events = Array.from({ length: EVENTS }, (_, index) =>
      setup.event(`e${index}`, { aggregateType: 'ORDER', aggregateId: `k${index % KEYS}` }),
    );
    await setup.store.insertAll(connection, events);
  });

  afterEach(() => outbox?.close());

  function start(workerCount: number): void {
    const lease = setup.store.lease.bind(setup.store);
    jest.spyOn(setup.store, 'lease').mockImplementation(async (connection, request) => {
      const events = await lease(connection, request);
      claims.push(events.length);
      return events;
    });
    outbox = Outbox.leased()
      .options({
        connectionProvider: setup.database,
        txContext: setup.tx,
        outboxStore: setup.store,
        listenerRegistry: setup.registry,
        logger: setup.logger,
        runtime: setup.runtime,
        batchSize: BATCH,
        workerCount,
      })
      .build();
  }

  /** The time of its calls is the only time that passes. */
  const takes = (ms: number): Promise<void> =>
    new Promise((resolve) => setup.runtime.setTimer(resolve, ms));

  function listenToBatches(callMs: number): void {
    setup.registry.register('ORDER', 'A', {
      onEvent: () => undefined,
      onEvents: async (events: readonly EventEnvelope[]) => {
        if (callMs > 0) await takes(callMs);
        handled += events.length;
        return events.map(() => undefined);
      },
    } as never);
  }

  it('is claimed in full batches, one after the other, without any wait', async () => {
    listenToBatches(0);
    start(1);
    await setup.settle();
    expect(handled).toBe(EVENTS);
    expect(claims).toEqual([...Array.from({ length: EVENTS / BATCH }, () => BATCH), 0]);
  });

  it('takes the time of the calls and no more', async () => {
    listenToBatches(10);
    start(1);
    await setup.advance((EVENTS / BATCH) * 10);
    expect(handled).toBe(EVENTS);
  });

  it('is shared by the workers, as far as it has free keys', async () => {
    listenToBatches(10);
    start(4);
    // A thousand keys are two full batches, so two of the four workers find work.
    await setup.advance((EVENTS / BATCH / 2) * 10);
    expect(handled).toBe(EVENTS);
    expect(claims.filter((length) => length === BATCH)).toHaveLength(EVENTS / BATCH);
    expect(claims.length).toBeLessThanOrEqual((2 * EVENTS) / BATCH + 4);
  });

  it('is handled event by event with all calls of the concurrency at work', async () => {
    setup.registry.register('ORDER', 'A', {
      onEvent: async () => {
        await takes(10);
        handled++;
      },
    });
    start(1);
    // Sixteen calls at a time.
    await setup.advance((EVENTS / BATCH) * Math.ceil(BATCH / 16) * 10);
    expect(handled).toBe(EVENTS);
  });
});
