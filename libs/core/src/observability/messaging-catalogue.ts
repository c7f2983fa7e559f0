import { DURATION_BOUNDS } from '../model/measures/bucket-bounds.js';
import { Histogram, sumOfHistograms, type HistogramValues } from '../model/measures/histogram.js';
import type { PublishValues } from '../model/measures/publish-values.js';
import type { ContainerReading } from './binding-reading.js';
import type { KafkaTopicValues } from './kafka-metrics.js';
import type { BusMetricDefinition, BusReading } from './metric-definition.js';
import type { HistogramSample, MetricSample } from './metric-family.js';

/**
 * Catalogue of the metrics by topic and by group: those of `EventPublisher`, of `KafkaMetrics`, and
 * of consumer groups under the names that dashboards for Kafka expect.
 */
export const MESSAGING_CATALOGUE: readonly BusMetricDefinition[] = Object.freeze<
  BusMetricDefinition[]
>([
  {
    name: 'eventbus.publisher.events',
    type: 'counter',
    help: 'Events of EventPublisher, by result. It is unknown whether an event was written if its acknowledgement was lost.',
    read: ({ publishes }) =>
      publishes.flatMap((each) =>
        (['published', 'failed', 'unknown'] as const).map((result) => ({
          labels: { ...placeOf(each), result },
          value: each[result],
        })),
      ),
  },
  {
    name: 'eventbus.publisher.duration',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time of a call of EventPublisher until its result.',
    read: ({ publishes }) =>
      publishes.map((each) => ({ labels: placeOf(each), ...each.durations })),
  },
  {
    name: 'kafka.consumer.records.consumed',
    type: 'counter',
    help: 'Records received from the broker, by consumer group. A redelivered record counts again.',
    read: consumedByGroup,
  },
  {
    name: 'kafka.messaging.messages.sent',
    type: 'counter',
    help: 'Messages sent and acknowledged, by topic.',
    read: countByTopic('sent', {
      ofPublish: ({ published }) => published,
      ofTopic: ({ sent }) => sent,
    }),
  },
  {
    name: 'kafka.messaging.messages.received',
    type: 'counter',
    help: 'Messages received, by topic.',
    read: countByTopic('received', {
      ofContainer: ({ counts }) => counts.received,
      ofTopic: ({ received }) => received,
    }),
  },
  {
    name: 'kafka.messaging.messages.failed',
    type: 'counter',
    help: 'Messages that could not be sent, or whose delivery to a handler failed, by topic.',
    read: countByTopic('failed', {
      ofPublish: ({ failed, unknown }) => failed + unknown,
      ofContainer: ({ counts: { failed, retried, deadLettered } }) =>
        failed + retried + deadLettered,
      ofTopic: ({ failed }) => failed,
    }),
  },
  {
    name: 'kafka.messaging.messages.dlq',
    type: 'counter',
    help: 'Messages written to a dead-letter topic, by the topic from which they were read.',
    read: countByTopic('dlq', {
      ofContainer: ({ counts }) => counts.deadLettered,
      ofTopic: ({ dlq }) => dlq,
    }),
  },
  {
    name: 'kafka.messaging.send.latency',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time of a send until its acknowledgement or its failure, by topic.',
    read: durationByTopic('send', {
      ofPublish: ({ durations }) => [durations],
      ofTopic: ({ send }) => [send],
    }),
  },
  {
    name: 'kafka.messaging.process.latency',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time of a message from its hand-out to its outcome, by topic.',
    read: durationByTopic('process', {
      ofContainer: ({ measures }) => (measures?.processing ?? []).map(({ values }) => values),
      ofTopic: ({ process }) => [process],
    }),
  },
]);

function placeOf({ binding, cluster, topic }: PublishValues) {
  return { binding, cluster, topic };
}

function consumedByGroup({ bindings }: BusReading): readonly MetricSample[] {
  const groups = new Map<string, number>();
  for (const { group, counts } of bindings.flatMap(({ containers }) => containers))
    groups.set(group, (groups.get(group) ?? 0) + counts.received);
  return [...groups].map(([group, value]) => ({ labels: { group }, value }));
}

/** How one kind of value is read from the three sources. An omitted source has none. */
interface Sources<T> {
  readonly ofPublish?: (publish: PublishValues) => T;
  readonly ofContainer?: (container: ContainerReading) => T;
  readonly ofTopic: (topic: KafkaTopicValues) => T;
}

function byTopic<T>({ bindings, publishes, topics }: BusReading, sources: Sources<T>) {
  const found = new Map<string, T[]>();
  const add = (topic: string, value: T): void =>
    void found.set(topic, [...(found.get(topic) ?? []), value]);
  const { ofPublish, ofContainer, ofTopic } = sources;
  if (ofContainer)
    for (const container of bindings.flatMap(({ containers }) => containers))
      add(container.topic, ofContainer(container));
  if (ofPublish) for (const publish of publishes) add(publish.topic, ofPublish(publish));
  for (const topic of topics) add(topic.topic, ofTopic(topic));
  return [...found];
}

function countByTopic(operation: string, sources: Sources<number>) {
  return (bus: BusReading): readonly MetricSample[] =>
    byTopic(bus, sources).map(([topic, values]) => ({
      labels: { topic, operation },
      value: values.reduce((sum, value) => sum + value, 0),
    }));
}

function durationByTopic(operation: string, sources: Sources<readonly HistogramValues[]>) {
  const none = new Histogram(DURATION_BOUNDS).values;
  return (bus: BusReading): readonly HistogramSample[] =>
    byTopic(bus, sources).map(([topic, values]) => ({
      labels: { topic, operation },
      ...(sumOfHistograms(values.flat()) ?? none),
    }));
}
