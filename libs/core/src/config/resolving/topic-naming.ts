import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import { formatValue } from '../reading/format-value.js';
import { isTopicName, joinSuffix, TOPIC_NAME, tierTopic } from './topic-name.js';
import { below, type Violations } from '../validation/violations.js';

/** What a binding says about the names of its topics. */
export interface NamingSource {
  readonly path: string;
  readonly topic: string;
  readonly naming: TopicNamingStrategy | undefined;
  /** Of each tier, in their order. */
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

/** A name that is written out comes first, then the strategy, then the suffixes. */
export function topicNames(source: NamingSource, violations: Violations): TopicNames {
  const { topic, naming, retrySuffixes, deadLetter } = source;
  const asked = (what: string, ask: () => string): string =>
    answered(source, what, ask, violations);
  return {
    retry: retrySuffixes.map((suffix, index) =>
      naming
        ? asked(`retryTopic(${formatValue(topic)}, ${index + 1})`, () =>
            naming.retryTopic(topic, index + 1),
          )
        : tierTopic(topic, suffix, index + 1),
    ),
    deadLetter:
      deadLetter.topic ??
      (naming
        ? asked(`deadLetterTopic(${formatValue(topic)})`, () => naming.deadLetterTopic(topic))
        : joinSuffix(topic, deadLetter.topicSuffix)),
  };
}

function answered(
  { path }: NamingSource,
  what: string,
  ask: () => unknown,
  violations: Violations,
): string {
  const complain = (complaint: string): string => {
    violations.add('NAMING', below(path, 'naming'), what, `${what} ${complaint}`);
    return '';
  };
  try {
    const name = ask();
    if (typeof name === 'string' && isTopicName(name)) return name;
    return complain(`must give ${TOPIC_NAME}; it gave ${formatValue(name)}.`);
  } catch (error) {
    return complain(`threw ${String(error)}. It must give ${TOPIC_NAME}.`);
  }
}
