import type { BrokerRecord } from '@nest-event-bus/broker';
import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import {
  EXCEPTION_CLASSIFIER,
  TOPIC_NAMING_STRATEGY,
} from '../../src/discovery/decorators/tokens.js';
import type { DltRecord } from '../../src/model/records/dlt-record.js';
import type { DeliveryAttempt, EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { ExceptionRoutingDecision } from '../../src/model/outcomes/exception-routing-decision.js';
import { headerText } from '../../src/model/records/header-text.js';
import type { TopicNamingStrategy } from '../../src/model/extension-points/topic-naming-strategy.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { World } from '../support/application.spec-support.js';

interface Call {
  readonly value: unknown;
  readonly at: number;
  readonly topic: string;
  readonly attempt: DeliveryAttempt;
  readonly dedupKey: string;
}

let world: World;
let calls: Call[];
let handle: (record: EventRecord, context: EventContext) => unknown;

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(record: EventRecord, context: EventContext): Promise<unknown> {
    const { attempt, dedupKey } = context;
    calls.push({
      value: record.value,
      at: world.runtime.now(),
      topic: record.topic,
      attempt,
      dedupKey,
    });
    return handle(record, context);
  }
}

const fail = (): never => {
  throw new Error('the warehouse does not answer');
};

const TOPICS = ['orders', 'orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'];

beforeEach(async () => {
  world = new World();
  calls = [];
  handle = fail;
  for (const topic of TOPICS) await world.topic(topic);
});

afterEach(() => world.end());

const start = (
  properties: Partial<TopicBindingProperties> = {},
  providers: readonly unknown[] = [],
) => world.startOrders([Orders, ...(providers as never[])], properties);

const noTiers = { retry: { tiers: [] } };
const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

const text = ({ headers }: BrokerRecord, name: string) => headerText(headers, `x-eventbus-${name}`);
const values = async (topic: string) =>
  (await world.records(topic)).map(({ value }) => value?.toString() ?? null);
const deadLetters = () => values('orders.DLT');

describe('A record that always fails', () => {
  const sequence = (): string[] =>
    calls.map(
      ({ attempt: { tier, delivery, call, total } }) => `${tier}.${delivery}.${call} #${total}`,
    );

  it('is handled thirty times, three in each of ten deliveries, and then dead-lettered', async () => {
    await start();
    await world.write('orders', '"poison"');
    await world.runtime.advance(20 * 60_000);
    const expected: string[] = [];
    for (const [tier, deliveries] of [1, 3, 3, 3].entries())
      for (let delivery = 1; delivery <= deliveries; delivery++)
        for (let call = 1; call <= 3; call++)
          expected.push(`${tier}.${delivery}.${call} #${expected.length + 1}`);
    expect(sequence()).toEqual(expected);
    expect(expected).toHaveLength(30);
    expect(await deadLetters()).toEqual(['"poison"']);
    expect(await world.committed()).toBe(1);
    for (const tier of [1, 2, 3]) {
      expect(await values(`orders.retry-${tier}`)).toHaveLength(3);
      expect(await world.committed(`shop.retry-${tier}`)).toBe(3);
    }
  });

  it('is never handled before its delay is over, nor much later', async () => {
    await start();
    await world.write('orders', '"late"');
    await world.runtime.advance(20 * 60_000);
    const delays = { 1: 10_000, 2: 60_000, 3: 300_000 } as Record<number, number>;
    const firsts = calls.filter(({ attempt }) => attempt.call === 1 && attempt.tier > 0);
    expect(firsts).toHaveLength(9);
    for (const first of firsts) {
      const before = calls[calls.indexOf(first) - 1]!;
      const waited = first.at - before.at;
      expect(waited).toBeGreaterThanOrEqual(delays[first.attempt.tier]!);
      expect(waited).toBeLessThan(delays[first.attempt.tier]! + 200);
    }
  });

  it('has one key for ever, and its bytes and headers in every topic', async () => {
    await start();
    const value = Buffer.from('  { "id" : 1.0 }');
    const key = Buffer.from([0, 255]);
    const headers = [
      { key: 'trace', value: 'a' },
      { key: 'trace', value: 'b' },
      { key: 'traceparent', value: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    ];
    await world.write('orders', { value, key, headers });
    await world.runtime.advance(20 * 60_000);
    expect(new Set(calls.map(({ dedupKey }) => dedupKey))).toEqual(new Set(['orders-0-0']));
    for (const topic of TOPICS.slice(1))
      for (const record of await world.records(topic)) {
        expect(record.value).toEqual(value);
        expect(record.key).toEqual(key);
        const own = record.headers.filter(({ key: name }) => name.startsWith('trace'));
        expect(own.map((header) => header.value?.toString())).toEqual(headers.map((h) => h.value));
      }
  });

  it('ends with its whole story in its headers', async () => {
    await start();
    await world.write('orders', '"story"');
    await world.runtime.advance(20 * 60_000);
    const [letter] = await world.records('orders.DLT');
    const told = Object.fromEntries(
      [
        'original-topic',
        'original-partition',
        'original-offset',
        'dlt-reason',
        'dlt-cause',
        'total-attempts',
        'last-exception-class',
        'last-exception-message',
        'retry-tier',
        'tier0-exception',
        'tier0-attempts',
        'tier3-attempts',
        'binding-name',
        'group-id',
      ].map((name) => [name, text(letter!, name)]),
    );
    expect(told).toEqual({
      'original-topic': 'orders',
      'original-partition': '0',
      'original-offset': '0',
      'dlt-reason': 'RETRIES_EXHAUSTED',
      'dlt-cause': 'exhausted',
      'total-attempts': '30',
      'last-exception-class': 'Error',
      'last-exception-message': 'the warehouse does not answer',
      'retry-tier': '3',
      'tier0-exception': 'Error',
      'tier0-attempts': '3',
      'tier3-attempts': '9',
      'binding-name': 'orders',
      'group-id': 'shop',
    });
    for (const tier of [0, 1, 2, 3])
      expect(Number(text(letter!, `tier${tier}-exhausted-at`))).toBeGreaterThan(0);
    expect(Number(text(letter!, 'first-failure-timestamp'))).toBeLessThan(
      Number(text(letter!, 'dlt-timestamp')),
    );
  });

  it('holds nobody up: the records behind it are handled at once', async () => {
    handle = ({ value }) => (value === 'bad' ? fail() : undefined);
    await start();
    await world.write('orders', '"bad"', '"good"');
    await world.runtime.advance(1_000);
    expect(calls.at(-1)?.value).toBe('good');
    expect(await world.committed()).toBe(2);
  });

  it('is handled in the tier that mends it, and nowhere behind it', async () => {
    handle = (_, { attempt }) => (attempt.tier < 2 ? fail() : undefined);
    await start();
    await world.write('orders', '"mended"');
    await world.runtime.advance(20 * 60_000);
    expect(calls.at(-1)?.attempt).toEqual({ tier: 2, delivery: 1, call: 1, total: 13 });
    expect(await deadLetters()).toEqual([]);
    expect(await world.committed('shop.retry-2')).toBe(1);
  });
});

describe('Tiers', () => {
  it('have the delay, the deliveries, the topic and the sessions that retry.tiers gives them', async () => {
    await world.topic('orders-again', 2);
    const tiers = [{ delayMs: 500, maxAttempts: 2, topicSuffix: '-again', concurrency: 2 }];
    await start({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    await world.write('orders', '1');
    await world.runtime.advance(5_000);
    expect(calls.map(({ topic }) => topic)).toEqual(['orders', 'orders-again', 'orders-again']);
    expect(await world.members('shop.retry-1')).toHaveLength(2);
    expect(await deadLetters()).toEqual(['1']);
  });

  it('keep the key of a record, so that it keeps its partition', async () => {
    await world.topic('orders.retry', 8);
    const tiers = [{ delayMs: 500, maxAttempts: 3, topicSuffix: 'retry' }];
    await start({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    await world.write('orders', { key: 'customer-7', value: '1' });
    await world.runtime.advance(5_000);
    const hops = await world.records('orders.retry');
    expect(hops).toHaveLength(3);
    expect(new Set(hops.map(({ partition }) => partition)).size).toBe(1);
  });

  it('are held alone: what is due waits in the topic, while the binding goes on', async () => {
    const tiers = [{ delayMs: 500, maxAttempts: 1 }];
    const application = await start({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.pauseTier('orders', 1));
    await world.write('orders', '1', '2');
    await world.runtime.advance(600_000);
    expect(calls.map(({ topic }) => topic)).toEqual(['orders', 'orders']);
    expect(await values('orders.retry-1')).toEqual(['1', '2']);
    await world.done(lifecycle.resumeTier('orders', 1));
    await world.runtime.advance(1_000);
    expect(calls.map(({ topic }) => topic).slice(2)).toEqual(['orders.retry-1', 'orders.retry-1']);
    expect(await deadLetters()).toEqual(['1', '2']);
  });

  it('leave the records of another group to that group', async () => {
    const handled: string[] = [];
    @Injectable()
    class Two {
      @EventHandler('orders')
      one(): void {
        handled.push('orders');
        fail();
      }
      @EventHandler('billing')
      two({ topic }: EventRecord): void {
        handled.push(`billing from ${topic}`);
      }
    }
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 500, maxAttempts: 2 }] };
    const bindings = {
      orders: { topic: 'orders', groupId: 'shop', retry },
      billing: { topic: 'orders', groupId: 'bills', retry },
    };
    await world.start({ imports: [world.bus({ bindings })], providers: [Two] });
    await world.write('orders', '1');
    await world.runtime.advance(10_000);
    expect(handled.toSorted()).toEqual(['billing from orders', 'orders', 'orders', 'orders']);
    expect(await world.committed('bills.retry-1')).toBe(2);
  });
});

describe('Where a failure goes', () => {
  const skip = (tier: number) => ({ match: RangeError, tier });

  it('skipToTierMapping: to the tier of the closest match', async () => {
    handle = () => {
      throw new RangeError('later');
    };
    await start({ retry: { skipToTierMapping: [skip(2), { match: Error, tier: 1 }] } });
    await world.write('orders', '1');
    await world.runtime.advance(100_000);
    expect([...new Set(calls.map(({ topic }) => topic))]).toEqual(['orders', 'orders.retry-2']);
  });

  it('orderingMode STRICT has no tiers: strictExhaustion DLT dead-letters', async () => {
    await start({ orderingMode: 'STRICT' });
    await world.write('orders', '1', '2');
    await world.runtime.advance(10_000);
    expect(await deadLetters()).toEqual(['1', '2']);
    expect(await values('orders.retry-1')).toEqual([]);
  });

  it('strictExhaustion PAUSE_PARTITION waits until somebody decides', async () => {
    handle = ({ value }) => (value === 1 ? fail() : undefined);
    const application = await start({
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await world.write('orders', '1', '2');
    await world.runtime.advance(60 * 60_000);
    expect(calls.map(({ value }) => value)).toEqual([1, 1, 1]);
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.pause('orders'));
    await world.done(lifecycle.resume('orders'));
    await world.runtime.advance(60_000);
    expect(calls).toHaveLength(3);
    const connector = application.get(EventBusConnector);
    await world.done(connector.decide('orders', { topic: 'orders', partition: 0 }, 'retry'));
    await world.runtime.advance(60_000);
    expect(calls).toHaveLength(6);
    await world.done(connector.decide('orders', { topic: 'orders', partition: 0 }, 'dead-letter'));
    await world.runtime.advance(60_000);
    expect(calls.at(-1)?.value).toBe(2);
    const [letter] = await world.records('orders.DLT');
    const names = ['dlt-reason', 'dlt-cause', 'last-exception-message', 'tier0-exception'];
    expect([...names, 'total-attempts'].map((name) => text(letter!, name))).toEqual([
      'MANUAL',
      'operator',
      'the warehouse does not answer',
      'Error',
      '6',
    ]);
    expect(await world.committed()).toBe(2);
  });

  it('a decision that names its record is not that of the next one, which waits there by then', async () => {
    const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const;
    const application = await start(strict);
    await world.write('orders', '1', '2', '3');
    await world.runtime.advance(10_000);
    const connector = application.get(EventBusConnector);
    const place = { topic: 'orders', partition: 0 };
    const skip = (named: { readonly offset?: number | bigint } = {}) =>
      world.done(connector.decide('orders', { ...place, ...named }, 'skip'));
    expect(world.health(application).bindings[0]?.reasons).toEqual([
      'eventbus-orders: orders-0 waits (strict) for a decision about offset 0',
    ]);
    await skip({ offset: 0n });
    await world.runtime.advance(5_000);
    await expect(skip({ offset: 0 })).rejects.toThrow(
      "Offset 0 of orders-0 waits for no decision in this process, but offset 1 does. It may have been decided about already: look at the health of binding 'orders'.",
    );
    await world.runtime.advance(5_000);
    expect(await world.committed()).toBe(1);
    await skip({ offset: 1 });
    await world.runtime.advance(5_000);
    await skip();
    await world.runtime.advance(5_000);
    expect(await world.committed()).toBe(3);
    await expect(skip({ offset: 2 })).rejects.toThrow(
      'Offset 2 of orders-0 waits for no decision in this process. Look at the health of binding',
    );
  });

  it('a record that an operator gave up leaves once its dead-letter topic takes it', async () => {
    const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const;
    const application = await start({ ...strict, dlt: { topic: 'late' } });
    await world.write('orders', '1');
    await world.runtime.advance(10_000);
    const connector = application.get(EventBusConnector);
    await world.done(connector.decide('orders', { topic: 'orders', partition: 0 }, 'dead-letter'));
    await world.runtime.advance(60_000);
    expect(await world.committed()).toBe(0);
    expect(world.health(application).status).toBe('DOWN');
    await world.topic('late');
    await world.runtime.advance(120_000);
    expect(calls).toHaveLength(3);
    const [letter] = await world.records('late');
    expect(text(letter!, 'last-exception-message')).toBe('the warehouse does not answer');
    expect(await world.committed()).toBe(1);
    expect(world.health(application).status).toBe('UP');
  });

  it('onBudgetExceeded: DLT, or the NEXT_TIER', async () => {
    // A call takes half of what is left: the wait before the second would end too late.
    handle = async () => {
      await new Promise<void>((resolve) => world.runtime.setTimer(resolve, 35_000));
      fail();
    };
    const slow = { maxPollIntervalMs: 50_000, maxPollRecords: 1 };
    await start(slow);
    await world.write('orders', '1');
    await world.runtime.advance(40_000);
    const [letter] = await world.records('orders.DLT');
    expect(text(letter!, 'dlt-cause')).toBe('budget-exceeded');
    await world.end();
    world = new World();
    for (const topic of TOPICS) await world.topic(topic);
    await start({ ...slow, retry: { onBudgetExceeded: 'NEXT_TIER' } });
    await world.write('orders', '1');
    await world.runtime.advance(40_000);
    expect(await values('orders.retry-1')).toEqual(['1']);
  });

  it('poisonAfter: as many calls that fail alike', async () => {
    await start({ retry: { poisonAfter: 6 } });
    await world.write('orders', '1');
    await world.runtime.advance(20 * 60_000);
    expect(calls).toHaveLength(6);
    const [letter] = await world.records('orders.DLT');
    expect(text(letter!, 'dlt-cause')).toBe('poison');
  });

  it('poisonAfter does not count calls that fail in different ways', async () => {
    let count = 0;
    handle = () => {
      throw new Error(`failure ${++count}`);
    };
    await start({ retry: { poisonAfter: 3 } });
    await world.write('orders', '1');
    await world.runtime.advance(20 * 60_000);
    expect(calls).toHaveLength(30);
  });

  it('a classifier of the application decides before the defaults', async () => {
    const seen: unknown[] = [];
    const classifier = {
      classify: (error: Error, tier: number) => {
        seen.push([error.message, tier]);
        return ExceptionRoutingDecision.skipToTier(3);
      },
    };
    await start({}, [{ provide: EXCEPTION_CLASSIFIER, useValue: classifier }]);
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(seen[0]).toEqual(['the warehouse does not answer', 0]);
    expect(await values('orders.retry-3')).toEqual(['1']);
  });

  it('PAUSE_CONTAINER pauses the binding, and the record comes again after the resume', async () => {
    const classifier = { classify: () => ExceptionRoutingDecision.pauseContainer() };
    const application = await start(once, [
      { provide: EXCEPTION_CLASSIFIER, useValue: classifier },
    ]);
    await world.write('orders', '1', '2');
    await world.runtime.advance(60_000);
    const heard = calls.length;
    expect(heard).toBeLessThan(4);
    expect(world.health(application)).toMatchObject({ status: 'DEGRADED' });
    handle = () => undefined;
    await world.done(application.get(LifecycleManager).resume('orders'));
    await world.runtime.advance(10_000);
    expect(calls.slice(heard).map(({ value }) => value)).toEqual([1, 2]);
    expect(await deadLetters()).toEqual([]);
  });

  it('a handler may give its record up', async () => {
    handle = (_, context) => context.deadLetter('the customer is gone');
    await start();
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(calls).toHaveLength(1);
    const [letter] = await world.records('orders.DLT');
    expect([text(letter!, 'dlt-reason'), text(letter!, 'dlt-cause')]).toEqual([
      'MANUAL',
      'handler',
    ]);
    expect(text(letter!, 'last-exception-message')).toBe('the customer is gone');
  });
});

describe('A message that cannot be read', () => {
  it('is dead-lettered at once: its handler never sees it, and the partition goes on', async () => {
    handle = () => undefined;
    await start();
    await world.write('orders', '1', '{ not json', '2');
    await world.runtime.advance(1_000);
    expect(calls.map(({ value }) => value)).toEqual([1, 2]);
    const [letter] = await world.records('orders.DLT');
    expect(letter?.value?.toString()).toBe('{ not json');
    expect([text(letter!, 'dlt-reason'), text(letter!, 'dlt-cause')]).toEqual([
      'NON_RETRYABLE',
      'deserialization',
    ]);
    const told = ['part', 'format', 'exception-class', 'reason'];
    expect(told.map((name) => text(letter!, `deserialization-${name}`))).toEqual([
      'value',
      'JSON',
      'UnreadableValueError',
      'the parser refused it',
    ]);
    expect(await world.committed()).toBe(3);
  });

  it('is told from a tombstone, which is a message of its own', async () => {
    handle = () => undefined;
    await start();
    await world.write('orders', { key: 'k', value: null });
    await world.runtime.advance(1_000);
    expect(calls.map(({ value }) => value)).toEqual([null]);
    expect(await deadLetters()).toEqual([]);
  });

  it('is dead-lettered as a tombstone when a tombstone fails', async () => {
    await start(once);
    await world.write('orders', { key: 'k', value: null });
    await world.runtime.advance(1_000);
    expect(await deadLetters()).toEqual([null]);
  });
});

describe('The dead-letter topic', () => {
  it('is named by dlt.topic, or by dlt.topicSuffix', async () => {
    await world.topic('graveyard');
    await start({ ...once, dlt: { topic: 'graveyard' } });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(await values('graveyard')).toEqual(['1']);
    await world.end();
    world = new World();
    for (const topic of [...TOPICS, 'orders-dead']) await world.topic(topic);
    await start({ ...once, dlt: { topicSuffix: '-dead' } });
    await world.write('orders', '2');
    await world.runtime.advance(1_000);
    expect(await values('orders-dead')).toEqual(['2']);
  });

  it('has the headers of dlt.headerProfile', async () => {
    await start({ ...once, dlt: { headerProfile: ['spring', 'plain'] } });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    const [letter] = await world.records('orders.DLT');
    const names = letter!.headers.map(({ key }) => key);
    expect(names).toEqual(expect.arrayContaining(['kafka_dlt-original-topic', 'original-topic']));
    expect(names).not.toContain('x-eventbus-last-exception-class');
    expect(text(letter!, 'dlt-reason')).toBe('RETRIES_EXHAUSTED');
  });

  it('that is missing keeps the record where it is, until it is there; the handler is not called for that', async () => {
    handle = ({ value }) => (value === 1 ? fail() : undefined);
    const application = await start({ ...once, dlt: { topic: 'late' } });
    await world.write('orders', '1', '2');
    await world.runtime.advance(60_000);
    expect(calls).toHaveLength(1);
    expect(await world.committed()).toBe(0);
    const health = world.health(application);
    expect(health.status).toBe('DOWN');
    expect(health.bindings[0]?.reasons.join()).toContain("'late'");
    await world.topic('late');
    await world.runtime.advance(60_000);
    expect(await values('late')).toEqual(['1']);
    expect(calls.map(({ value }) => value)).toEqual([1, 2]);
    expect(await world.committed()).toBe(2);
    expect(world.health(application).status).toBe('UP');
    const [letter] = await world.records('late');
    expect(text(letter!, 'total-attempts')).toBe('1');
  });

  it('that cannot be written to is no trouble of a binding that was stopped', async () => {
    const application = await start({ ...once, dlt: { topic: 'late' } });
    const troubles = () =>
      application
        .get(EventBusMetrics)
        .collect()
        .find(({ name }) => name === 'eventbus.publish.troubles')?.samples;
    await world.write('orders', '1');
    await world.runtime.advance(60_000);
    expect(troubles()).toMatchObject([{ labels: { topic: 'late' }, value: 1 }]);
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.stop('orders'));
    expect(troubles()).toEqual([]);
    await world.topic('late');
    await world.done(lifecycle.start('orders'));
    await world.runtime.advance(1_000);
    expect(world.health(application).status).toBe('UP');
    expect(await values('late')).toEqual(['1']);
  });

  it('is DOWN all the time between two tries, however long one may take', async () => {
    const application = await start({
      ...once,
      dlt: { topic: 'lost', publishTimeoutMs: '3m' },
    });
    await world.topic('lost');
    world.broker.faults.loseRequests({ operation: 'produce', topic: 'lost' });
    await world.write('orders', '1');
    await world.runtime.advance(4 * 60_000);
    for (let minutes = 0; minutes < 15; minutes += 0.5) {
      await world.runtime.advance(30_000);
      expect([minutes, world.health(application).status]).toEqual([minutes, 'DOWN']);
    }
  });

  it('is told once to a method that asks for it twice', async () => {
    const told: string[] = [];
    @Injectable()
    @DltAlert('orders')
    class Alerts {
      @DltAlert()
      @DltAlert('orders')
      onDeadLetter({ originalTopic }: DltRecord): void {
        told.push(originalTopic);
      }
      @DltAlert('orders')
      tell({ originalTopic }: DltRecord): void {
        told.push(`another of ${originalTopic}`);
      }
    }
    await start({ ...once, dlt: { strategy: 'ALERT_AND_STORE' } }, [Alerts]);
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(told.toSorted()).toEqual(['another of orders', 'orders']);
  });

  it('is alerted of with dlt.strategy ALERT_AND_STORE, and asked about with CUSTOM', async () => {
    const told: DltRecord[] = [];
    @Injectable()
    class Alerts {
      @DltAlert('orders')
      tell(letter: DltRecord): void {
        told.push(letter);
      }
      @DltHandler('orders')
      decide(letter: DltRecord): 'discard' {
        told.push(letter);
        return 'discard';
      }
    }
    await start({ ...once, dlt: { strategy: 'ALERT_AND_STORE' } }, [Alerts]);
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    expect(told).toMatchObject([
      {
        originalTopic: 'orders',
        originalOffset: 0n,
        dltReason: 'RETRIES_EXHAUSTED',
        totalAttempts: 1,
      },
    ]);
    expect(await deadLetters()).toEqual(['1']);
    await world.end();
    world = new World();
    for (const topic of TOPICS) await world.topic(topic);
    await start({ ...once, dlt: { strategy: 'CUSTOM' } }, [Alerts]);
    await world.write('orders', '2');
    await world.runtime.advance(1_000);
    expect(told).toHaveLength(2);
    expect(await deadLetters()).toEqual([]);
    expect(await world.committed()).toBe(1);
  });

  it('is alerted of before what the alert needs is destroyed, when the drain has filled it', async () => {
    const steps: string[] = [];
    @Injectable()
    class Pager implements OnModuleDestroy {
      async page(): Promise<void> {
        await sleep(world.runtime, 2_000);
        steps.push('paged');
      }
      onModuleDestroy(): void {
        steps.push('pager closed');
      }
    }
    @Injectable()
    class Alerts {
      constructor(private readonly pager: Pager) {}
      @DltAlert('orders')
      onLetter(): Promise<void> {
        return this.pager.page();
      }
    }
    handle = async () => {
      await sleep(world.runtime, 1_000);
      return fail();
    };
    const properties = { ...once, dlt: { strategy: 'ALERT_AND_STORE' } } as const;
    const application = await start(properties, [Pager, Alerts]);
    await world.write('orders', '1');
    await world.done(application.close());
    expect(await deadLetters()).toEqual(['1']);
    expect(steps).toEqual(['paged', 'pager closed']);
  });

  it('of a binding that is registered later is asked about, where its cluster is named', async () => {
    @Injectable()
    class Undertaker {
      @DltHandler('late', { cluster: 'default' })
      decide(): 'discard' {
        return 'discard';
      }
    }
    const connector = (await start({}, [Undertaker])).get(EventBusConnector);
    for (const topic of ['late', 'late.DLT']) await world.topic(topic);
    const late = { ...once, topic: 'late', groupId: 'late', dlt: { strategy: 'CUSTOM' } } as const;
    await world.done(connector.register('late', late, () => fail()));
    await world.write('late', '1');
    await world.runtime.advance(1_000);
    expect(await values('late.DLT')).toEqual([]);
    expect(await world.committed('late')).toBe(1);
  });
});

describe('A BATCH listener', () => {
  const batch = { listenerType: 'BATCH', maxPollRecords: 10 } as const;
  const bad = ({ value }: EventRecord) => (value === 2 ? fail() : undefined);

  it('SEEK_TO_FAILED: the good ones once, the bad one again batchRedeliveries times, and then to its tier', async () => {
    handle = bad;
    await start({ ...batch, batchRedeliveries: 2, retry: { tier0: { maxAttempts: 1 } } });
    await world.write('orders', '1', '2', '3');
    await world.runtime.advance(9_000);
    expect(calls.map(({ value }) => value)).toEqual([1, 2, 2, 2, 3]);
    expect(await values('orders.retry-1')).toEqual(['2']);
    expect(await world.committed()).toBe(3);
  });

  it('batchFailureStrategy DLQ_AND_CONTINUE: the bad one is dead-lettered at once', async () => {
    handle = bad;
    await start({
      ...batch,
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
      retry: { tier0: { maxAttempts: 1 } },
    });
    await world.write('orders', '1', '2', '3');
    await world.runtime.advance(1_000);
    expect(calls.map(({ value }) => value)).toEqual([1, 2, 3]);
    const [letter] = await world.records('orders.DLT');
    expect(text(letter!, 'dlt-cause')).toBe('batch-failure');
    expect(await world.committed()).toBe(3);
  });
});

it('A preset without tiers dead-letters after its calls', async () => {
  await start({ preset: 'strategy-notification' });
  await world.write('orders', '1');
  await world.runtime.advance(60_000);
  expect(calls).toHaveLength(4);
  expect(await deadLetters()).toEqual(['1']);
});

it('An ordinary failure with noTiers is dead-lettered after its calls in memory', async () => {
  await start(noTiers);
  await world.write('orders', '1');
  await world.runtime.advance(5_000);
  expect(calls).toHaveLength(3);
  expect(await deadLetters()).toEqual(['1']);
});

it('A provider of TOPIC_NAMING_STRATEGY names the topics of all bindings', async () => {
  await world.topic('orders-of-the-shop-dead');
  const naming: TopicNamingStrategy = {
    retryTopic: (topic, tier) => `${topic}-of-the-shop-${tier}`,
    deadLetterTopic: (topic) => `${topic}-of-the-shop-dead`,
  };
  await start(noTiers, [{ provide: TOPIC_NAMING_STRATEGY, useValue: naming }]);
  await world.write('orders', '1');
  await world.runtime.advance(5_000);
  expect(await values('orders-of-the-shop-dead')).toEqual(['1']);
});

describe('The words of the application', () => {
  it('exceptionRouting: the closest match says where the record goes', async () => {
    handle = () => {
      throw new RangeError('later');
    };
    await start({
      exceptionRouting: [
        { match: Error, routing: 'DEAD_LETTER' },
        { match: RangeError, routing: 'SKIP_TO_TIER', tier: 3 },
      ],
    });
    await world.write('orders', '1');
    await world.runtime.advance(5_000);
    expect(await values('orders.retry-3')).toEqual(['1']);
    expect(await deadLetters()).toEqual([]);
  });

  it('exceptionRouting: PAUSE_CONTAINER pauses a binding whose record is beyond its budget, too', async () => {
    handle = async () => {
      await new Promise<void>((resolve) => world.runtime.setTimer(resolve, 35_000));
      fail();
    };
    const application = await start({
      maxPollIntervalMs: 50_000,
      maxPollRecords: 1,
      exceptionRouting: [{ match: Error, routing: 'PAUSE_CONTAINER' }],
    });
    await world.write('orders', '1');
    await world.runtime.advance(40_000);
    expect(world.health(application).bindings).toMatchObject([{ state: 'PAUSED' }]);
    expect(await deadLetters()).toEqual([]);
    expect(await world.committed()).toBe(0);
  });

  it('classifier: that of the binding counts before the one of the application', async () => {
    const deadLetter = { classify: () => ExceptionRoutingDecision.deadLetter() };
    const skip = { classify: () => ExceptionRoutingDecision.skipToTier(3) };
    await start({ classifier: deadLetter }, [{ provide: EXCEPTION_CLASSIFIER, useValue: skip }]);
    await world.write('orders', '1');
    await world.runtime.advance(5_000);
    expect(await deadLetters()).toEqual(['1']);
  });
});
