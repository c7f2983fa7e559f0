import { IsTextLike } from '../properties/property-decorators.js';

const LEGAL = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;

/** Checks Kafka's rule for topic names. */
export const isTopicName = (name: string): boolean => LEGAL.test(name);

export const TOPIC_NAME =
  "a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'";

export const IsTopicName = (): PropertyDecorator => IsTextLike(LEGAL, TOPIC_NAME, 'TOPIC_NAME');

export const IsTopicSuffix = (): PropertyDecorator =>
  IsTextLike(
    /^(?:[A-Za-z0-9._-]|\{n\}){1,200}$/,
    "a topic suffix: characters a-z, A-Z, 0-9, '.', '_' and '-', with {n} for the number of the tier",
    'TOPIC_NAME',
  );

/**
 * Joins `orders` and `DLT` to `orders.DLT`. A suffix that begins with '.', '-' or '_' has its own
 * separator: `orders` and `-dlq` become `orders-dlq`.
 */
export function joinSuffix(topic: string, suffix: string): string {
  return /^[._-]/.test(suffix) ? `${topic}${suffix}` : `${topic}.${suffix}`;
}

/** Derives the name from the original topic, so that tier 2 is never `orders.retry-1.retry-2`. */
export function tierTopic(topic: string, suffix: string, tier: number): string {
  return joinSuffix(topic, suffix.replaceAll('{n}', String(tier)));
}
