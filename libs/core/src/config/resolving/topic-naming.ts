import { errorReasonOf } from '@nest-event-bus/broker';
import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import { formatValue } from '../reading/format-value.js';
import { isTopicName, TOPIC_NAME } from './legal-topic-name.js';
import { below, type Violations } from '../validation/violations.js';

/** Options of a binding that decide the names of its topics. */
export interface NamingSource {
  readonly path: string;
  readonly topic: string;
  readonly naming: TopicNamingStrategy | undefined;
  /** Suffix of each tier, in order. */
  readonly retrySuffixes: readonly string[];
  readonly deadLetter: { readonly topic?: string; readonly topicSuffix: string };
}

export interface TopicNames {
  readonly retry: readonly string[];
  readonly deadLetter: string;
}

export function isNamingStrategy(value: unknown): value is TopicNamingStrategy {
  if (typeof value !== 'object' || value === null) return false;
  const { retryTopic, deadLetterTopic } = value as Partial<TopicNamingStrategy>;
  return typeof retryTopic === 'function' && typeof deadLetterTopic === 'function';
}

/**
 * Derives the names of the topics. An explicit name overrides the naming strategy, and the strategy
 * overrides the suffixes.
 */
export function topicNames(source: NamingSource, violations: Violations): TopicNames {
  const { topic, naming, retrySuffixes, deadLetter } = source;
  const fromStrategy = (call: string, getName: () => string): string =>
    validName(source, call, getName, violations);
  return {
    retry: retrySuffixes.map((suffix, index) =>
      naming
        ? fromStrategy(`retryTopic(${formatValue(topic)}, ${index + 1})`, () =>
            naming.retryTopic(topic, index + 1),
          )
        : tierTopic(topic, suffix, index + 1),
    ),
    deadLetter:
      deadLetter.topic ??
      (naming
        ? fromStrategy(`deadLetterTopic(${formatValue(topic)})`, () =>
            naming.deadLetterTopic(topic),
          )
        : joinSuffix(topic, deadLetter.topicSuffix)),
  };
}

/**
 * Joins `orders` and `DLT` to `orders.DLT`. A suffix that begins with '.', '-' or '_' has its own
 * separator: `orders` and `-dlq` become `orders-dlq`.
 */
function joinSuffix(topic: string, suffix: string): string {
  return /^[._-]/.test(suffix) ? `${topic}${suffix}` : `${topic}.${suffix}`;
}

/**
 * Derives the name from the main topic, not from the previous tier, so that tier 2 is never
 * `orders.retry-1.retry-2`.
 */
function tierTopic(topic: string, suffix: string, tier: number): string {
  return joinSuffix(topic, suffix.replaceAll('{n}', String(tier)));
}

function validName(
  { path }: NamingSource,
  call: string,
  getName: () => unknown,
  violations: Violations,
): string {
  const complain = (complaint: string): string => {
    violations.add('NAMING', below(path, 'naming'), call, `${call} ${complaint}`);
    return '';
  };
  try {
    const name = getName();
    if (typeof name === 'string' && isTopicName(name)) return name;
    return complain(`must return ${TOPIC_NAME}; it returned ${formatValue(name)}.`);
  } catch (error) {
    return complain(`threw ${errorReasonOf(error)}. It must return ${TOPIC_NAME}.`);
  }
}
