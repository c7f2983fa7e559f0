import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';

export type TopicRole = 'main' | 'retry' | 'dead-letter';

export interface NeededTopic {
  readonly name: string;
  readonly role: TopicRole;
}

/** A binding whose topics are checked or created. */
export interface TopicUser extends ResolvedBinding {
  /**
   * True if the binding has no handler. No record of it is consumed, so it needs no retry and
   * dead-letter topics.
   */
  readonly isOnlyPublished?: boolean;
}

/**
 * Returns the main topic first, because retry and dead-letter topics get as many partitions as it
 * has.
 */
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
