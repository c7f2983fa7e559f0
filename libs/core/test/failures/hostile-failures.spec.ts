import type { BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { headerText } from '../../src/model/records/header-text.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

type Written = Partial<OutgoingRecord> & Pick<OutgoingRecord, 'value'>;

const AHEAD_MS = 300_000;

let testBus: TestBus;
let calls: string[];
let fail: (name: string) => unknown;

type Order = EventRecord<string | null>;

const isBad = ({ value }: Order): boolean => value === null || value.includes('bad');
const nameOf = ({ value }: Order): string => value?.slice('bad: '.length) ?? '';

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(record: Order): Promise<unknown> {
    calls.push(`${record.topic} ${record.value}`);
    return isBad(record) ? fail(nameOf(record)) : undefined;
  }
}

@Injectable()
class HastyOrders {
  @EventHandler('orders')
  onOrder(record: Order): unknown {
    calls.push(`${record.topic} ${record.value}`);
    return isBad(record) ? fail(nameOf(record)) : undefined;
  }
}

@Injectable()
class OrdersInBatches {
  @EventHandler.Batch('orders')
  onOrders(records: readonly Order[]): unknown {
    for (const { topic, value } of records) calls.push(`${topic} ${value}`);
    const bad = records.find(isBad);
    return bad && fail(nameOf(bad));
  }
}

const TOPICS = ['orders', 'orders.retry-1', 'orders.DLT'];
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 500, maxAttempts: 1 }] };

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  fail = () => {
    throw new Error('no');
  };
  for (const topic of TOPICS) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const start = (handlers: new () => object = Orders, properties: object = {}) =>
  testBus.startOrders([handlers], { retry, ...properties });

const letters = async () => (await testBus.records('orders.DLT')).map(readDeadLetter);
const valuesOf = (records: readonly { readonly value: Buffer | null }[]) =>
  records.map(({ value }) => value?.toString() ?? null);

const boom = (): never => {
  throw new TypeError('do not look');
};
const withGetter = (name: string): Error =>
  Object.defineProperty(new Error('x'), name, { get: boom });
const revoked = (): Error => {
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  return proxy;
};
const cyclic = (): Error => {
  const error = new Error('round');
  error.cause = new Error('and round', { cause: error });
  return error;
};
const trapped = (): Error =>
  new Proxy(new Error('x'), {
    get: boom,
    has: boom,
    ownKeys: boom,
    getPrototypeOf: boom,
    getOwnPropertyDescriptor: boom,
  });

const GETTERS = ['name', 'message', 'stack', 'cause', 'code', 'status', 'constructor'];

const THROWN: Readonly<Record<string, () => unknown>> = {
  ...Object.fromEntries(
    GETTERS.map((name) => [`an error whose ${name} throws`, () => withGetter(name)]),
  ),
  nothing: () => undefined,
  null: () => null,
  'a text': () => 'x',
  'a number': () => 7,
  'a symbol': () => Symbol('x'),
  'a bigint': () => 7n,
  'a function': () => boom,
  'an object without a prototype': () => Object.create(null),
  'an object that has no text': () => ({ [Symbol.toPrimitive]: boom, toString: boom }),
  'a promise that rejects': () => Promise.reject(new Error('later')),
  'a revoked proxy': revoked,
  'a proxy that throws': trapped,
  'a revoked proxy as the cause': () => new Error('x', { cause: revoked() }),
  'a proxy that throws as the cause': () => new Error('x', { cause: trapped() }),
  'a cycle of causes': cyclic,
  'a frozen error': () => Object.freeze(new Error('x')),
  'an error with an object for its name': () =>
    Object.assign(new Error('x'), { name: { toString: boom }, message: { toString: boom } }),
  'an error without a constructor': () => Object.setPrototypeOf(new Error('x'), null) as unknown,
  'an error whose message is long': () => new Error('m'.repeat(10_000_000)),
  'an error whose name is long': () =>
    Object.assign(new Error('x'), { name: 'n'.repeat(3_000_000) }),
  'an error with half of a character': () => new Error('\uD800\u0000\r\n'),
  'many errors with one in itself': () => {
    const many = new AggregateError([]);
    many.errors.push(many, ...Array.from({ length: 10_000 }, cyclic));
    return many;
  },
};

it.each([
  ['synchronously', HastyOrders, {}],
  ['asynchronously', Orders, {}],
  ['for a whole batch', OrdersInBatches, { listenerType: 'BATCH' }],
])(
  'A record is retried and dead-lettered once, whatever value its handler throws (%s)',
  async (_, handlers, rest) => {
    fail = (name) => {
      throw THROWN[name]?.();
    };
    await start(handlers, rest);
    const bad = Object.keys(THROWN).map((name) => `bad: ${name}`);
    await testBus.write('orders', ...[...bad, 'good'].map((value) => JSON.stringify(value)));
    await testBus.runtime.advance(60_000);
    const values = bad.map((value) => JSON.stringify(value));
    expect(valuesOf(await testBus.records('orders.retry-1'))).toEqual(values);
    expect(valuesOf(await letters())).toEqual(values);
    expect(calls).toContain('orders good');
    expect(await testBus.committed()).toBe(bad.length + 1);
    expect(await testBus.committed('shop.retry-1')).toBe(bad.length);
  },
);

it.each([
  ['synchronously', HastyOrders],
  ['asynchronously', Orders],
])(
  'A record gets all its calls, in memory and in its tier, whatever value its handler throws (%s)',
  async (_, handlers) => {
    fail = (name) => {
      throw THROWN[name]?.();
    };
    const tier0 = { maxAttempts: 3, initialBackoffMs: 1 };
    await start(handlers, { retry: { tier0, tiers: [{ delayMs: 100, maxAttempts: 1 }] } });
    const bad = Object.keys(THROWN).map((name) => `bad: ${name}`);
    await testBus.write('orders', ...bad.map((value) => JSON.stringify(value)));
    await testBus.runtime.advance(60_000);
    const callsOf = (value: string) => calls.filter((call) => call.endsWith(` ${value}`)).length;
    expect(bad.filter((value) => callsOf(value) !== 6)).toEqual([]);
    expect((await letters()).map(({ totalAttempts }) => totalAttempts)).toEqual(bad.map(() => 6));
  },
);

it('A record that its handler acknowledges is done, even if the handler then throws a proxy that throws', async () => {
  @Injectable()
  class Acknowledging {
    @EventHandler('orders')
    onOrder({ value }: Order, context: EventContext): void {
      calls.push(String(value));
      context.acknowledge();
      throw trapped();
    }
  }
  await start(Acknowledging);
  await testBus.write('orders', '"one"', '"two"');
  await testBus.runtime.advance(5_000);
  expect([calls, await testBus.committed()]).toEqual([['one', 'two'], 2]);
});

it.each(['synchronously', 'asynchronously'])(
  'A record is dead-lettered at once, whatever value its deserializer throws (%s)',
  async (when) => {
    const read = (bytes: Buffer): unknown => {
      const value = JSON.parse(bytes.toString()) as string;
      if (value.startsWith('bad: ')) throw THROWN[value.slice('bad: '.length)]?.();
      return value;
    };
    const deserialize = when === 'synchronously' ? read : async (bytes: Buffer) => read(bytes);
    await start(Orders, { deserializer: { name: 'shop', deserialize } });
    const bad = Object.keys(THROWN).map((name) => JSON.stringify(`bad: ${name}`));
    await testBus.write('orders', ...bad, '"good"');
    await testBus.runtime.advance(10_000);
    expect(calls).toEqual(['orders good']);
    const found = await letters();
    expect(valuesOf(found)).toEqual(bad);
    expect(new Set(found.map(({ dltCause }) => dltCause))).toEqual(new Set(['deserialization']));
    expect(found.every(({ deserialization }) => deserialization?.format === 'shop')).toBe(true);
    expect(await testBus.records('orders.retry-1')).toEqual([]);
  },
);

const HUGE = 'h'.repeat(300_000);
const FORGED: Readonly<Record<string, Readonly<Record<string, string | Buffer | null>>>> = {
  'huge texts': {
    'x-eventbus-original-topic': HUGE,
    'x-eventbus-fingerprint': HUGE,
    'x-eventbus-tier1-exception': HUGE,
  },
  'no values': { 'x-eventbus-original-offset': null, 'x-eventbus-total-attempts': null },
  'counters below zero': {
    'x-eventbus-total-attempts': '-5',
    'x-eventbus-retry-attempt': '-1',
    'x-eventbus-replay-count': '-9',
    'x-eventbus-tier0-attempts': '-3',
  },
  'giant counters': {
    'x-eventbus-total-attempts': '9007199254740991',
    'x-eventbus-retry-attempt': '9007199254740991',
    'x-eventbus-replay-count': '9223372036854775807',
    'x-eventbus-retry-tier': '99999999999',
    'x-eventbus-original-offset': '9223372036854775807',
  },
  'times in the far future': {
    'x-eventbus-retry-timestamp': '9007199254740991',
    'x-eventbus-first-failure-timestamp': '9007199254740991',
  },
  'bytes that Spring does not write': {
    'kafka_dlt-original-partition': Buffer.from([255]),
    'kafka_dlt-original-offset': Buffer.alloc(9, 255),
    'kafka_dlt-original-topic': Buffer.from([0xff, 0xfe]),
    'x-eventbus-original-partition': Buffer.from([255, 255, 255, 255]),
    'x-eventbus-retry-attempt': Buffer.from([0x7f, 255, 255, 255]),
  },
  'unknown values': {
    'x-eventbus-dlt-reason': 'NONSENSE',
    'x-eventbus-poison': 'true',
    'x-eventbus-version': '999',
    'x-eventbus-tier99-attempts': '1',
    'x-eventbus-deserialization-format': 'nonsense',
  },
};
const PROFILES = ['eventbus', 'spring', 'plain'] as const;

describe.each(['orders', 'orders.retry-1'])('A record in %s with forged headers', (topic) => {
  it.each(Object.entries(FORGED))(
    'is dead-lettered once, although it has %s',
    async (_, forged) => {
      await start(Orders, { dlt: { headerProfile: [...PROFILES] } });
      const own = [
        { key: 'trace', value: 'a' },
        { key: 'trace', value: 'b' },
        { key: '', value: null },
      ];
      const headers = [
        ...own.slice(0, 1),
        ...Object.entries(forged).map(([key, value]) => ({ key, value })),
        ...own.slice(1),
      ];
      await testBus.write(topic, { value: '"bad"', headers }, { value: '"good"' });
      await testBus.runtime.advance(4_000);
      const [letter, ...others] = await letters();
      expect(others).toEqual([]);
      expect(letter?.value).toEqual(Buffer.from('"bad"'));
      // On the main topic the producer wrote them, and they are its own.
      const originals = topic === 'orders' ? headers : own;
      expect(letter?.headers.map(({ key, value }) => [key, value?.toString() ?? null])).toEqual(
        originals.map(({ key, value }) => [key, value?.toString() ?? null]),
      );
      // The handler had two calls (main topic and tier), or one (tier only). Forged counters do not
      // change that.
      expect(letter?.isPoison).toBe(topic === 'orders');
      expect(letter?.deserialization).toBeUndefined();
      expect(calls).toContain(`${topic} good`);
    },
  );

  it('is ignored if the headers name another group, but only in the retry topic', async () => {
    await start();
    const headers = [{ key: 'x-eventbus-group-id', value: 'somebody-else' }];
    await testBus.write(topic, { value: '"bad"', headers });
    await testBus.runtime.advance(4_000);
    const isRetry = topic !== 'orders';
    expect(calls).toHaveLength(isRetry ? 0 : 2);
    expect(await letters()).toHaveLength(isRetry ? 0 : 1);
    expect(await testBus.committed(isRetry ? 'shop.retry-1' : 'shop')).toBe(1);
  });
});

it('A record in a retry topic with a timestamp of the year 9999 does not block the partition', async () => {
  const config = { 'message.timestamp.after.max.ms': '9000000000000000' };
  await testBus.done(testBus.outside.admin().alterTopicConfig('orders.retry-1', config));
  await start();
  const timestamp = 253_370_764_800_000;
  await testBus.write('orders.retry-1', { value: '"good"', timestamp }, { value: '"good"' });
  await testBus.runtime.advance(5_000);
  expect(calls).toEqual(['orders.retry-1 good', 'orders.retry-1 good']);
});

it('A retry timestamp that is minutes ahead delays its record by no more than the delay of the tier', async () => {
  await start();
  const ahead = String(testBus.runtime.now() + AHEAD_MS);
  const headers = [{ key: 'x-eventbus-retry-timestamp', value: ahead }];
  const record: Written = { value: '"good"', headers };
  await testBus.write('orders.retry-1', record, record);
  await testBus.runtime.advance(300);
  expect(calls).toEqual([]);
  await testBus.runtime.advance(500);
  expect(calls).toHaveLength(2);
  const skew = testBus.log.warnings.filter((line) => line.includes('the clocks of two machines'));
  expect(skew).toHaveLength(1);
});

describe('A record on its way through all tiers to the dead-letter topic', () => {
  const onTheWay = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 3 }] };
  const ofAll = async (): Promise<readonly BrokerRecord[]> => [
    ...(await testBus.records('orders.retry-1')),
    ...(await testBus.records('orders.DLT')),
  ];

  it.each<[string, Written]>([
    ['keeps a null value (tombstone)', { key: 'k', value: null }],
    ['keeps a null key', { key: null, value: '"bad"' }],
    ['keeps an empty key and an empty value', { key: '', value: '' }],
    [
      'keeps all bytes of key and value',
      { key: Buffer.from([0, 255]), value: Buffer.from('"bad \u{1F4A5}"') },
    ],
  ])('%s', async (_, record) => {
    const headers = [
      { key: 'b', value: Buffer.from([0, 255]) },
      { key: 'a', value: '1' },
      { key: 'b', value: null },
      { key: 'a', value: '' },
    ];
    await start(Orders, { retry: onTheWay });
    await testBus.write('orders', { ...record, headers });
    await testBus.runtime.advance(4_000);
    const isRead = record.value !== '';
    const found = await ofAll();
    expect(found).toHaveLength(isRead ? 4 : 1);
    const bytes = (given: Buffer | string | null | undefined) =>
      given === null || given === undefined ? null : Buffer.from(given);
    for (const each of found) {
      expect(each.key).toEqual(bytes(record.key));
      expect(each.value).toEqual(bytes(record.value));
      const own = each.headers.filter(({ key }) => key.length === 1);
      expect(own).toEqual(headers.map(({ key, value }) => ({ key, value: bytes(value) })));
    }
    const origin = found.map((each) => headerText(each.headers, 'x-eventbus-original-offset'));
    expect(new Set(origin)).toEqual(new Set(['0']));
  });
});
