import type { ResolvedBinding } from '../../resolving/resolved-binding.js';
import { TOPIC_NAME, isTopicName } from '../../resolving/legal-topic-name.js';
import { formatValue } from '../../reading/format-value.js';
import { longestDelayMs } from '../../resolving/tier-delay.js';
import type { BindingRule } from './binding-rule.js';

export const topicRules: readonly BindingRule[] = [
  {
    rule: 'TIER_SUFFIX',
    reads: ['retry.tiers', 'naming'],
    check: ({ binding: { retry, naming } }) => {
      // Skips the rule if there is a naming strategy, because the suffixes are then not used.
      if (retry.tiers.length < 2 || naming) return [];
      return retry.tiers
        .filter(({ topicSuffix }) => !topicSuffix.includes('{n}'))
        .map(({ topicSuffix, number }) => ({
          key: `retry.tiers[${number - 1}].topicSuffix`,
          value: topicSuffix,
          message: `${formatValue(topicSuffix)} has no {n}, so that the ${retry.tiers.length} tiers cannot be distinguished. Write it with {n}, such as 'retry-{n}', or use a single tier.`,
        }));
    },
  },
  {
    rule: 'TOPIC_NAME',
    reads: ['topic', 'retry.tiers', 'dlt', 'naming'],
    check: ({ binding }) =>
      derivedTopics(binding)
        .filter(({ topic }) => !isTopicName(topic))
        .map(({ key, topic }) => ({
          key,
          value: topic,
          message: `makes '${topic}', which is not ${TOPIC_NAME}. Shorten the suffix or the topic.`,
        })),
  },
  {
    rule: 'TOPIC_COLLISION',
    reads: ['topic', 'retry.tiers', 'dlt', 'naming'],
    check: ({ binding }) => {
      const topics = [{ key: 'topic', topic: binding.topic }, ...derivedTopics(binding)];
      return topics.flatMap(({ key, topic }, index) => {
        const first = topics.findIndex((other) => other.topic === topic);
        if (first === index) return [];
        const message = `makes '${topic}', the name that ${topics[first]?.key} has already. The main topic, each retry topic and the dead-letter topic need names of their own.`;
        return [{ key, value: topic, message }];
      });
    },
  },
  {
    rule: 'TIER_RETENTION',
    reads: ['retry.tiers', 'topics', 'provisioning', 'orderingMode'],
    check: ({ binding: { provisioning, retry, topics }, is }) => {
      const { retentionDays } = topics.retry;
      // Checks only topics that the bus creates. Existing topics are checked at startup with their
      // real configuration.
      if (provisioning !== 'create' || retentionDays === 0) return [];
      const tier = retry.tiers.find((each) => longestDelayMs(each) >= retentionDays * DAY_MS);
      if (!tier) return [];
      const message = `deletes a record before its turn comes: ${is('topics.retry.retentionDays', retentionDays)}, and tier ${tier.number} waits for up to ${longestDelayMs(tier)} ms. Raise it to ${Math.floor(longestDelayMs(tier) / DAY_MS) + 1} or more, or shorten the delay.`;
      return [{ key: 'topics.retry.retentionDays', value: retentionDays, message }];
    },
  },
];

const DAY_MS = 86_400_000;

const derivedTopics = ({ retry, dlt }: ResolvedBinding) => [
  ...retry.tiers.map(({ topic, number }) => ({
    key: `retry.tiers[${number - 1}].topicSuffix`,
    topic,
  })),
  { key: 'dlt.topic', topic: dlt.topic },
];
