import { Injectable } from '@nestjs/common';
import { PRESET_NAMES, type PresetName } from '../../src/config/reading/preset-name.js';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let calls: { readonly topic: string; readonly at: number }[];

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder({ topic }: EventRecord): never {
    calls.push({ topic, at: world.runtime.now() });
    throw new Error('nobody has seen this before');
  }
}

beforeEach(() => {
  world = new World();
  calls = [];
});

afterEach(() => world.end());

const SECOND = 1_000;

/** At least and at most, between two calls. */
type Wait = readonly [number, number];

const exactly = (...seconds: readonly number[]): readonly Wait[] =>
  seconds.map((each) => [each * SECOND, each * SECOND]);

/** Jitter takes up to a half of a wait away. */
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
  'kafka_dlt-original-consumer-group',
];
const PLAIN = [
  'original-topic',
  'exception-message',
  'exception-class',
  'failure-timestamp',
  'retry-count',
];

interface Road {
  /** All that is said besides preset, topic and groupId. */
  readonly given?: Partial<TopicBindingProperties>;
  /** Where each call finds the record. */
  readonly topics: readonly string[];
  readonly waits: readonly Wait[];
  readonly deadLetters: string;
  /** Those that tell one profile from the others. */
  readonly headers: readonly string[];
}

const times = <T>(count: number, ...items: readonly T[]): readonly T[] =>
  Array.from({ length: count }, () => items).flat();

const RETRY_TOPICS = ['orders.retry-1', 'orders.retry-2', 'orders.retry-3'];

/** Part A of the requirements, as a record that nothing can help goes through it. */
const ROADS: Readonly<Record<PresetName, Road>> = {
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

/** A record that fails for good, with half an hour to do so. */
async function fail(preset: PresetName, { given, topics, deadLetters }: Road): Promise<void> {
  for (const topic of new Set([...topics, deadLetters])) await world.topic(topic);
  await world.startOrders([Orders], { preset, ...given });
  await world.write('orders', '"bad"');
  await world.runtime.advance(30 * 60 * SECOND);
}

describe('A record that fails for good with an error that nobody knows', () => {
  it.each(PRESET_NAMES)('goes the road of preset %s', async (preset) => {
    const road = ROADS[preset];
    await fail(preset, road);
    expect(calls.map(({ topic }) => topic)).toEqual(road.topics);
    const waited = waits();
    expect(waited).toHaveLength(road.waits.length);
    const untimely = road.waits.flatMap(([least, most], index) =>
      waited[index]! < least || waited[index]! > most
        ? [`${waited[index]} is not in ${least} to ${most}`]
        : [],
    );
    expect(untimely).toEqual([]);
    const [letter, ...others] = await world.records(road.deadLetters);
    expect(others).toEqual([]);
    expect(letter?.value?.toString()).toBe('"bad"');
    const names = letter!.headers.map(({ key }) => key).filter(isOfProfile);
    expect(names.toSorted()).toEqual(road.headers.toSorted());
    expect(await world.committed()).toBe(1);
  });
});

describe('Preset brokers', () => {
  it('creates its dead-letter topic itself', async () => {
    await world.topic('orders');
    await world.startOrders([Orders], { preset: 'brokers' });
    expect((await world.topicNames()).toSorted()).toEqual(['orders', 'orders-dlq']);
  });

  it('gives up after three retries, which take the 90 s of its limit at the longest', async () => {
    const retry = { tier0: { initialBackoffMs: '30s' } } as const;
    await fail('brokers', { ...ROADS.brokers, given: { retry } });
    expect(waits()).toEqual([30, 30, 30].map((seconds) => seconds * SECOND));
    expect(await world.records('orders-dlq')).toHaveLength(1);
  });
});
