import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import type { EventBusEvent, EventBusEventName } from '../../src/model/events/event-bus-events.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;
let events: EventBusEvent[];

const NO_TIER = { tier0: { maxAttempts: 1 }, tiers: [] };
const ONE_TIER = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 10_000, maxAttempts: 1 }] };

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
  events = [];
});
afterEach(() => testBus.end());

/** Starts the binding, and collects the events with these names. */
async function start(
  properties: Parameters<RecordingTestBus['startHandler']>[0],
  ...names: readonly EventBusEventName[]
): Promise<INestApplicationContext> {
  const application = await testBus.startHandler(properties);
  application
    .get(EventBusEvents)
    .on(...names)
    .subscribe((event) => events.push(event));
  return application;
}

const RECORDS: readonly EventBusEventName[] = [
  'record.failed',
  'record.retried',
  'record.dead-lettered',
  'record.discarded',
  'record.recovered',
];

const record = { topic: 'orders', partition: 0, offset: 0n };
const base = { binding: 'orders', cluster: 'default', groupId: 'shop' };
const exception = { className: 'Error', message: 'the warehouse does not answer' };

describe('The events of a record', () => {
  it('report each of its topics, from the retry topic to the dead-letter topic', async () => {
    await start({ retry: ONE_TIER }, ...RECORDS);
    await testBus.write('orders', '1');
    const dueAt = testBus.calls[0]!.at + 10_000;
    const first = { call: 1, delivery: 1, tier: 0, total: 1 };
    const retry = { topic: 'orders.retry-1', tier: 1, delivery: 1, dueAt };
    expect(events).toMatchObject([
      {
        name: 'record.failed',
        at: testBus.calls[0]!.at,
        ...base,
        record,
        origin: record,
        attempt: first,
        exception,
        next: { kind: 'retry', ...retry },
      },
      { name: 'record.retried', ...base, record, attempt: first, exception, ...retry },
    ]);
    await testBus.runtime.advance(20_000);
    const inTier = { topic: 'orders.retry-1', partition: 0, offset: 0n };
    const letter = { topic: 'orders.DLT', reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' };
    const attempt = { call: 1, delivery: 1, tier: 1, total: 2 };
    expect(events.slice(2)).toMatchObject([
      {
        name: 'record.failed',
        record: inTier,
        origin: record,
        attempt,
        next: { kind: 'dead-letter', ...letter },
        isFinal: true,
      },
      { name: 'record.dead-lettered', record: inTier, origin: record, attempt, ...letter },
    ]);
  });

  it('hold nothing of its key, its value or its headers', async () => {
    await start({ retry: ONE_TIER }, ...RECORDS);
    const headers = [{ key: 'secret-name', value: 'secret' }];
    await testBus.write('orders', { key: 'secret', value: '"secret"', headers });
    await testBus.runtime.advance(20_000);
    expect(events).toHaveLength(4);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it.each([
    ['after another call', { tier0: { maxAttempts: 2 }, tiers: [] }, { call: 2, tier: 0 }],
    [
      'after another delivery',
      { mode: 'seek', tier0: { maxAttempts: 2 }, tiers: [] } as const,
      { call: 1, delivery: 2, tier: 0 },
    ],
    ['in a retry topic', ONE_TIER, { call: 1, tier: 1 }],
  ])('report that it was handled %s', async (_, retry, attempt) => {
    await start({ retry }, 'record.recovered');
    testBus.handle = () => {
      if (testBus.calls.length === 1) throw new Error('no');
    };
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(20_000);
    expect(events).toMatchObject([
      { name: 'record.recovered', ...base, origin: record, attempt: { total: 2, ...attempt } },
    ]);
  });

  it('report that a record was discarded by an operator', async () => {
    const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const;
    const application = await start({ retry: NO_TIER, ...strict }, ...RECORDS);
    await testBus.write('orders', '1');
    const decided = application.get(EventBusConnector).decide('orders', record, 'skip');
    await testBus.done(decided);
    expect(events).toMatchObject([
      { name: 'record.failed', next: { kind: 'wait-for-decision' }, isFinal: true },
      { name: 'record.discarded', ...base, record, reason: 'skipped' },
    ]);
  });

  it('report that a record was discarded without a failure', async () => {
    testBus.handle = (_, context) => {
      context.acknowledge();
      throw new Error('no');
    };
    await start({ retry: NO_TIER }, ...RECORDS);
    await testBus.write('orders', '1');
    expect(events).toMatchObject([{ name: 'record.discarded', record, reason: 'acknowledged' }]);
  });
});

describe('The events of a record in a batch', () => {
  @Injectable()
  class Batches {
    static calls = 0;

    @EventHandler.Batch('orders', { filter: ({ value }) => value !== 'skip' })
    handle(records: readonly EventRecord[]): void {
      Batches.calls++;
      if (Batches.calls === 1) throw new BatchProcessingException(0, 'no', records);
    }
  }

  it('report its recovery, and that a filter has discarded it', async () => {
    Batches.calls = 0;
    const retry = { tier0: { maxAttempts: 2 }, tiers: [] };
    const application = await testBus.startOrders([Batches], { listenerType: 'BATCH', retry });
    application
      .get(EventBusEvents)
      .on('record.recovered', 'record.discarded')
      .subscribe((event) => events.push(event));
    await testBus.write('orders', '"1"', '"skip"');
    await testBus.runtime.advance(10_000);
    expect(
      events.map((event) => 'record' in event && `${event.name} ${event.record.offset}`),
    ).toEqual(expect.arrayContaining(['record.recovered 0', 'record.discarded 1']));
  });
});

describe('The events of a binding', () => {
  it('report each pause and its end, with who gave the command and why', async () => {
    const application = await start({}, 'binding.paused', 'binding.resumed', 'binding.changed');
    const connector = application.get(EventBusConnector);
    const note = { by: 'jane', reason: 'maintenance' };
    await testBus.done(connector.pause('orders', note));
    await testBus.done(connector.resume('orders', { by: 'john' }));
    await testBus.done(connector.stop('orders'));
    await testBus.runtime.settle();
    expect(events).toMatchObject([
      { name: 'binding.changed', from: 'RUNNING', to: 'PAUSED', ...note },
      { name: 'binding.paused', pause: 'operator', pauses: ['operator'], ...note },
      { name: 'binding.changed', from: 'PAUSED', to: 'RUNNING', by: 'john' },
      { name: 'binding.resumed', pauses: ['operator'], by: 'john' },
      { name: 'binding.changed', from: 'RUNNING', to: 'STOPPED' },
    ]);
  });

  it('report that the binding was destroyed', async () => {
    const application = await start({}, 'binding.changed');
    await testBus.done(application.get(EventBusConnector).unregister('orders'));
    await testBus.runtime.settle();
    expect(events.at(-1)).toMatchObject({ binding: 'orders', to: 'DESTROYED' });
  });

  it('report each change of its circuit, and the pause that the change causes', async () => {
    const circuitBreaker = {
      slidingWindowSize: 2,
      minimumNumberOfCalls: 2,
      waitDurationInOpenStateMs: 1_000,
      permittedNumberOfCallsInHalfOpenState: 1,
    };
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    await start({ retry, circuitBreaker }, 'circuit.changed', 'binding.paused', 'binding.resumed');
    testBus.handle = () => {
      if (testBus.calls.length <= 2) throw new Error('no');
    };
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(5_000);
    expect(events).toMatchObject([
      {
        name: 'circuit.changed',
        from: 'CLOSED',
        to: 'OPEN',
        cause: 'failure-rate',
        pausesBinding: true,
      },
      { name: 'binding.paused', pause: 'circuit', by: 'circuit-breaker' },
      { name: 'circuit.changed', from: 'OPEN', to: 'HALF_OPEN', cause: 'wait-over' },
      { name: 'binding.resumed', pauses: ['circuit'] },
      { name: 'circuit.changed', from: 'HALF_OPEN', to: 'CLOSED', cause: 'recovered' },
    ]);
  });

  it('report that its dead-letter topic cannot be written to, and later that it can', async () => {
    await start({ retry: NO_TIER }, 'topic.write-failed', 'topic.write-recovered');
    const fault = testBus.broker.faults.refuse(
      { operation: 'produce', topic: 'orders.DLT' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    fault.lift();
    await testBus.runtime.advance(60_000);
    const topic = 'orders.DLT';
    expect(events).toMatchObject([
      {
        name: 'topic.write-failed',
        binding: 'orders',
        topic,
        exceptionClass: 'DltPublishException',
      },
      { name: 'topic.write-recovered', topic, failedForMs: expect.any(Number) },
    ]);
  });
});

describe('The events of a session', () => {
  const session = { session: 'eventbus-orders-0', groupId: 'shop', tier: 0 };

  it('report its partitions, also when the session stops', async () => {
    const application = await start(
      { retry: NO_TIER, autoStartup: false },
      'partitions.assigned',
      'partitions.revoked',
    );
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.start('orders'));
    await testBus.runtime.advance(5_000);
    const partitions = [{ topic: 'orders', partition: 0 }];
    expect(events).toMatchObject([{ name: 'partitions.assigned', ...session, partitions }]);
    await testBus.done(connector.stop('orders'));
    await testBus.runtime.settle();
    expect(events.slice(1)).toMatchObject([
      { name: 'partitions.revoked', ...session, partitions, isLost: false },
    ]);
  });

  it('report once that the session does not consume, and once that it consumes again', async () => {
    await start({ retry: NO_TIER }, 'session.failed', 'session.recovered');
    const fault = testBus.broker.faults.refuse(
      { operation: 'heartbeat' },
      'GROUP_AUTHORIZATION_FAILED',
    );
    await testBus.runtime.advance(10_000);
    fault.lift();
    await testBus.runtime.advance(120_000);
    expect(events).toMatchObject([
      { name: 'session.failed', ...session, isPermanent: false },
      { name: 'session.recovered', ...session, failedForMs: expect.any(Number) },
    ]);
  });
});
