import type { NewTopic } from '@nest-event-bus/broker';
import type {
  ResolvedBinding,
  ResolvedTopicShape,
  ResolvedTopics,
} from '../config/resolving/resolved-binding.js';

const DAY_MS = 86_400_000;

export type TopicRole = 'main' | 'retry' | 'dead-letter';

export interface NeededTopic {
  readonly name: string;
  readonly role: TopicRole;
}

/** A binding whose topics are checked or created. */
export interface TopicUser extends ResolvedBinding {
  /** True if the binding has no handler. Nothing is consumed, so it needs no retry and dead-letter topics. */
  readonly isOnlyPublished?: boolean;
}

/** Returns the main topic first, because retry and dead-letter topics get as many partitions as it has. */
export function neededTopics({
  topic,
  retry,
  dlt,
  isOnlyPublished = false,
}: TopicUser): readonly NeededTopic[] {
  if (isOnlyPublished) return [{ name: topic, role: 'main' }];
  const tiers = new Set(retry.tiers.map((tier) => tier.topic));
  return [
    { name: topic, role: 'main' },
    ...[...tiers].map((name) => ({ name, role: 'retry' as const })),
    { name: dlt.topic, role: 'dead-letter' },
  ];
}

/** Describes a topic to create. `sourcePartitions` is the number of partitions of the main topic. */
export function newTopic(
  { name, role }: NeededTopic,
  topics: ResolvedTopics,
  sourcePartitions: number,
): NewTopic {
  const { partitions, retentionDays } = shapeOf(role, topics);
  const count = partitions || (role === 'main' ? 0 : sourcePartitions);
  return {
    name,
    ...(count > 0 && { partitions: count }),
    ...(topics.replicationFactor > 0 && { replicationFactor: topics.replicationFactor }),
    ...(retentionDays > 0 && { config: { 'retention.ms': String(retentionDays * DAY_MS) } }),
  };
}

function shapeOf(role: TopicRole, topics: ResolvedTopics): ResolvedTopicShape {
  switch (role) {
    case 'main':
      return topics;
    case 'retry':
      return topics.retry;
    case 'dead-letter':
      return topics.dlt;
  }
}
