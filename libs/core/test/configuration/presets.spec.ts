import { Injectable } from '@nestjs/common';
import { PRESET_NAMES, type PresetName } from '../../src/config/reading/preset-name.js';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let calls: { readonly topic: string; readonly at: number }[];

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder({ topic }: EventRecord): never {
    calls.push({ topic, at: testBus.runtime.now() });
    throw new Error('unknown failure');
  }
}

beforeEach(() => {
  testBus = new TestBus();
  calls = [];
});

afterEach(() => testBus.end());

const SECOND = 1_000;

/** Shortest and longest time between two calls. */
type Wait = readonly [number, number];

const exactly = (...seconds: readonly number[]): readonly Wait[] =>
  seconds.map((each) => [each * SECOND, each * SECOND]);

/** Jitter shortens a wait by up to one half. */
const JITTERED: readonly Wait[] = [
  [50, 100],
  [100, 200],
];

const EVENTBUS = ['x-eventbus-dlt-timestamp', 'x-eventbus-last-exception-class'];
const SPRING = [
  'kafka_dlt-exception-fqcn',
  'kafka_dlt-exception-message',
  'kafka_dlt-exception-stacktrace',
  'kafka_dlt-original-topic',
  'kafka_dlt-original-partition',
  'kafka_dlt-original-offset',
  'kafka_dlt-original-timestamp',
  'kafka_dlt-original-timestamp-type',
  'kafka_dlt-original-consumer-group',
];
const PLAIN = [
  'original-topic',
  'exception-message',
  'exception-class',
  'failure-timestamp',
  'retry-count',
];

interface FailureSequence {
  /** Options besides preset, topic and groupId. */
  readonly given?: Partial<TopicBindingProperties>;
  /** Topics of the calls, in order. */
  readonly topics: readonly string[];
  readonly waits: readonly Wait[];
  readonly deadLetters: string;
  /** Headers that only the profile of the preset writes. */
  readonly headers: readonly string[];
}

const times = <T>(count: number, ...items: readonly T[]): readonly T[] =>
  Array.from({ length: count }, () => items).flat();

const RETRY_TOPICS = ['orders.retry-1', 'orders.retry-2', 'orders.retry-3'];

/** The documented calls and topics of a record that fails permanently, by preset. */
const SEQUENCES: Readonly<Record<PresetName, FailureSequence>> = {
  connector: {
    topics: [...times(3, 'orders'), ...RETRY_TOPICS.flatMap((topic) => times(9, topic))],
    waits: [
      ...JITTERED,
      ...[10, 60, 300].flatMap((delay) => times(3, ...exactly(delay), ...JITTERED)),
    ],
    deadLetters: 'orders.DLT',
    headers: EVENTBUS,
  },
  strategy: {
    topics: times(4, 'orders'),
    waits: exactly(1, 2, 4),
    deadLetters: 'orders.DLT',
    headers: SPRING,
  },
  'strategy-financial': {
    topics: times(6, 'orders'),
    waits: exactly(5, 10, 20, 40, 60),
    deadLetters: 'orders.DLT',
    headers: SPRING,
  },
  'strategy-notification': {
    topics: times(4, 'orders'),
    waits: exactly(1, 2, 4),
    deadLetters: 'orders.DLT',
    headers: SPRING,
  },
  'strategy-reconciliation': {
    topics: ['orders'],
    waits: [],
    deadLetters: 'orders.DLT',
    headers: SPRING,
  },
  brokers: {
    topics: times(4, 'orders'),
    waits: exactly(1, 2, 4),
    deadLetters: 'orders-dlq',
    headers: PLAIN,
  },
  resilient: {
    given: { retry: { tiers: times(3, { delayMs: '5s' }) } },
    topics: ['orders', 'orders.retry.1', 'orders.retry.2', 'orders.retry.3'],
    waits: exactly(5, 5, 5),
    deadLetters: 'orders.error',
    headers: EVENTBUS,
  },
};

const waits = () => calls.slice(1).map(({ at }, index) => at - calls[index]!.at);

const isOfProfile = (name: string): boolean =>
  [...EVENTBUS, ...PLAIN].includes(name) || name.startsWith('kafka_dlt-');

/**
 * Writes a record that fails permanently, and advances the clock by half an hour, until it is
 * dead-lettered.
 */
async function fail(
  preset: PresetName,
  { given, topics, deadLetters }: FailureSequence,
): Promise<void> {
  for (const topic of new Set([...topics, deadLetters])) await testBus.topic(topic);
  await testBus.startOrders([Orders], { preset, ...given });
  await testBus.write('orders', '"bad"');
  await testBus.runtime.advance(30 * 60 * SECOND);
}

describe('A record that fails permanently with an unknown error', () => {
  it.each(PRESET_NAMES)('is retried and dead-lettered as preset %s says', async (preset) => {
    const sequence = SEQUENCES[preset];
    await fail(preset, sequence);
    expect(calls.map(({ topic }) => topic)).toEqual(sequence.topics);
    const waited = waits();
    expect(waited).toHaveLength(sequence.waits.length);
    const untimely = sequence.waits.flatMap(([least, most], index) =>
      waited[index]! < least || waited[index]! > most
        ? [`${waited[index]} is not in ${least} to ${most}`]
        : [],
    );
    expect(untimely).toEqual([]);
    const [letter, ...others] = await testBus.records(sequence.deadLetters);
    expect(others).toEqual([]);
    expect(letter?.value?.toString()).toBe('"bad"');
    const names = letter!.headers.map(({ key }) => key).filter(isOfProfile);
    expect(names.toSorted()).toEqual(sequence.headers.toSorted());
    expect(await testBus.committed()).toBe(1);
  });
});

describe('Preset brokers', () => {
  it('creates its dead-letter topic', async () => {
    await testBus.topic('orders');
    await testBus.startOrders([Orders], { preset: 'brokers' });
    expect((await testBus.topicNames()).toSorted()).toEqual(['orders', 'orders-dlq']);
  });

  it('dead-letters a record after three retries, which take at most 90 s together', async () => {
    const retry = { tier0: { initialBackoffMs: '30s' } } as const;
    await fail('brokers', { ...SEQUENCES.brokers, given: { retry } });
    expect(waits()).toEqual([30, 30, 30].map((seconds) => seconds * SECOND));
    expect(await testBus.records('orders-dlq')).toHaveLength(1);
  });
});
