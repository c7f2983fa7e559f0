import { Injectable } from '@nestjs/common';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import {
  eventbusHeader,
  fail,
  RecordingTestBus,
} from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

const noTiers = { retry: { tiers: [] } };

describe('A record that always fails', () => {
  const sequence = (): string[] =>
    testBus.calls.map(
      ({ attempt: { tier, delivery, call, total } }) => `${tier}.${delivery}.${call} #${total}`,
    );

  it('is handled thirty times, three in each of ten deliveries, and then dead-lettered', async () => {
    await testBus.startHandler();
    await testBus.write('orders', '"poison"');
    await testBus.runtime.advance(20 * 60_000);
    const expected: string[] = [];
    for (const [tier, deliveries] of [1, 3, 3, 3].entries())
      for (let delivery = 1; delivery <= deliveries; delivery++)
        for (let call = 1; call <= 3; call++)
          expected.push(`${tier}.${delivery}.${call} #${expected.length + 1}`);
    expect(sequence()).toEqual(expected);
    expect(expected).toHaveLength(30);
    expect(await testBus.deadLetters()).toEqual(['"poison"']);
    expect(await testBus.committed()).toBe(1);
    for (const tier of [1, 2, 3]) {
      expect(await testBus.values(`orders.retry-${tier}`)).toHaveLength(3);
      expect(await testBus.committed(`shop.retry-${tier}`)).toBe(3);
    }
  });

  it('is handled soon after its delay, never before', async () => {
    await testBus.startHandler();
    await testBus.write('orders', '"late"');
    await testBus.runtime.advance(20 * 60_000);
    const delays = { 1: 10_000, 2: 60_000, 3: 300_000 } as Record<number, number>;
    const firsts = testBus.calls.filter(({ attempt }) => attempt.call === 1 && attempt.tier > 0);
    expect(firsts).toHaveLength(9);
    for (const first of firsts) {
      const before = testBus.calls[testBus.calls.indexOf(first) - 1]!;
      const waited = first.at - before.at;
      expect(waited).toBeGreaterThanOrEqual(delays[first.attempt.tier]!);
      expect(waited).toBeLessThan(delays[first.attempt.tier]! + 200);
    }
  });

  it('keeps its dedupKey, its bytes and its headers in every topic', async () => {
    await testBus.startHandler();
    const value = Buffer.from('  { "id" : 1.0 }');
    const key = Buffer.from([0, 255]);
    const headers = [
      { key: 'trace', value: 'a' },
      { key: 'trace', value: 'b' },
      { key: 'traceparent', value: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    ];
    await testBus.write('orders', { value, key, headers });
    await testBus.runtime.advance(20 * 60_000);
    expect(new Set(testBus.calls.map(({ dedupKey }) => dedupKey))).toEqual(new Set(['orders-0-0']));
    for (const topic of RecordingTestBus.topics.slice(1))
      for (const record of await testBus.records(topic)) {
        expect(record.value).toEqual(value);
        expect(record.key).toEqual(key);
        const own = record.headers.filter(({ key: name }) => name.startsWith('trace'));
        expect(own.map((header) => header.value?.toString())).toEqual(headers.map((h) => h.value));
      }
  });

  it('has its failure history in the headers of the dead letter', async () => {
    await testBus.startHandler();
    await testBus.write('orders', '"failed"');
    await testBus.runtime.advance(20 * 60_000);
    const [letter] = await testBus.records('orders.DLT');
    const alerts = Object.fromEntries(
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
      ].map((name) => [name, eventbusHeader(letter!, name)]),
    );
    expect(alerts).toEqual({
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
      expect(Number(eventbusHeader(letter!, `tier${tier}-exhausted-at`))).toBeGreaterThan(0);
    expect(Number(eventbusHeader(letter!, 'first-failure-timestamp'))).toBeLessThan(
      Number(eventbusHeader(letter!, 'dlt-timestamp')),
    );
  });

  it('does not delay the records behind it', async () => {
    testBus.handle = ({ value }) => (value === 'bad' ? fail() : undefined);
    await testBus.startHandler();
    await testBus.write('orders', '"bad"', '"good"');
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.at(-1)?.value).toBe('good');
    expect(await testBus.committed()).toBe(2);
  });

  it('is not retried further after the tier in which it succeeds', async () => {
    testBus.handle = (_, { attempt }) => (attempt.tier < 2 ? fail() : undefined);
    await testBus.startHandler();
    await testBus.write('orders', '"recovered"');
    await testBus.runtime.advance(20 * 60_000);
    expect(testBus.calls.at(-1)?.attempt).toEqual({ tier: 2, delivery: 1, call: 1, total: 13 });
    expect(await testBus.deadLetters()).toEqual([]);
    expect(await testBus.committed('shop.retry-2')).toBe(1);
  });
});

describe('Retry tiers', () => {
  it('use the delay, deliveries, topic and concurrency of retry.tiers', async () => {
    await testBus.topic('orders-again', 2);
    const tiers = [{ delayMs: 500, maxAttempts: 2, topicSuffix: '-again', concurrency: 2 }];
    await testBus.startHandler({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(5_000);
    expect(testBus.calls.map(({ topic }) => topic)).toEqual([
      'orders',
      'orders-again',
      'orders-again',
    ]);
    expect(await testBus.members('shop.retry-1')).toHaveLength(2);
    expect(await testBus.deadLetters()).toEqual(['1']);
  });

  it('keep the key of a record, so that it keeps its partition', async () => {
    await testBus.topic('orders.retry', 8);
    const tiers = [{ delayMs: 500, maxAttempts: 3, topicSuffix: 'retry' }];
    await testBus.startHandler({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    await testBus.write('orders', { key: 'customer-7', value: '1' });
    await testBus.runtime.advance(5_000);
    const hops = await testBus.records('orders.retry');
    expect(hops).toHaveLength(3);
    expect(new Set(hops.map(({ partition }) => partition)).size).toBe(1);
  });

  it('are paused independently: due records wait in the retry topic while the binding runs', async () => {
    const tiers = [{ delayMs: 500, maxAttempts: 1 }];
    const application = await testBus.startHandler({ retry: { tier0: { maxAttempts: 1 }, tiers } });
    const lifecycle = application.get(LifecycleManager);
    await testBus.done(lifecycle.pauseTier('orders', 1));
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(600_000);
    expect(testBus.calls.map(({ topic }) => topic)).toEqual(['orders', 'orders']);
    expect(await testBus.values('orders.retry-1')).toEqual(['1', '2']);
    await testBus.done(lifecycle.resumeTier('orders', 1));
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.map(({ topic }) => topic).slice(2)).toEqual([
      'orders.retry-1',
      'orders.retry-1',
    ]);
    expect(await testBus.deadLetters()).toEqual(['1', '2']);
  });

  it('skip the records of another group', async () => {
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
    await testBus.start({ imports: [testBus.module({ bindings })], providers: [Two] });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    expect(handled.toSorted()).toEqual(['billing from orders', 'orders', 'orders', 'orders']);
    expect(await testBus.committed('bills.retry-1')).toBe(2);
  });
});

it('A preset without tiers dead-letters a record after its calls', async () => {
  await testBus.startHandler({ preset: 'strategy-notification' });
  await testBus.write('orders', '1');
  await testBus.runtime.advance(60_000);
  expect(testBus.calls).toHaveLength(4);
  expect(await testBus.deadLetters()).toEqual(['1']);
});

it('A binding without tiers dead-letters a record after its calls in memory', async () => {
  await testBus.startHandler(noTiers);
  await testBus.write('orders', '1');
  await testBus.runtime.advance(5_000);
  expect(testBus.calls).toHaveLength(3);
  expect(await testBus.deadLetters()).toEqual(['1']);
});
