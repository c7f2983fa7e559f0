import type { TopicDescription } from '@nest-event-bus/broker';
import { longestDelayMs } from '../config/resolving/tier-delay.js';
import type { NeededTopic, TopicUser } from './topic-plan.js';
import { checkedTopics } from './topic-provisioner.js';

export type TopicConfig = Readonly<Record<string, string | null>>;

/**
 * Returns warnings about the topics of a binding, based on their descriptions and configurations
 * from the cluster.
 */
export function topicFindings(
  binding: TopicUser,
  topics: ReadonlyMap<string, TopicDescription>,
  configs: ReadonlyMap<string, TopicConfig>,
): readonly string[] {
  return [
    ...idleSessions(binding, topics),
    ...shortRetention(binding, configs),
    ...smallerMessages(binding, configs),
    ...compaction(binding, configs),
  ];
}

/**
 * Returns the topics whose configurations are compared, to find out whether failed records could be
 * deleted from them.
 */
export function comparedTopics(binding: TopicUser): readonly string[] {
  const checked = checkedTopics(binding);
  return checked.length === 0 ? [] : [binding.topic, ...checked.map(({ name }) => name)];
}

function idleSessions(
  { name, topic, isOnlyPublished, concurrency }: TopicUser,
  topics: ReadonlyMap<string, TopicDescription>,
): readonly string[] {
  const partitions = topics.get(topic)?.partitions.length;
  if (isOnlyPublished || partitions === undefined || concurrency <= partitions) return [];
  return [
    `Binding '${name}' has concurrency ${concurrency}, but topic '${topic}' has ${partitions} partition(s): ${concurrency - partitions} session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.`,
  ];
}

/**
 * Warns of a retention that may delete a record before its delay is over, so that it is never
 * retried.
 */
function shortRetention(
  { name, retry }: TopicUser,
  configs: ReadonlyMap<string, TopicConfig>,
): readonly string[] {
  return retry.tiers.flatMap((tier) => {
    const config = configs.get(tier.topic);
    const retentionMs = numberOf(config, 'retention.ms');
    const delayMs = longestDelayMs(tier);
    if (!isDeleting(config) || retentionMs === undefined || retentionMs < 0) return [];
    if (retentionMs > delayMs) return [];
    return [
      `The retry topic '${tier.topic}' of binding '${name}' keeps its records for ${retentionMs} ms (retention.ms), but they wait there for up to ${delayMs} ms: one that is deleted before its turn is lost. Raise retention.ms, or shorten the delay of tier ${tier.number}.`,
    ];
  });
}

function smallerMessages(
  binding: TopicUser,
  configs: ReadonlyMap<string, TopicConfig>,
): readonly string[] {
  const largest = numberOf(configs.get(binding.topic), 'max.message.bytes');
  if (largest === undefined) return [];
  return checkedTopics(binding).flatMap(({ name, role }) => {
    const bytes = numberOf(configs.get(name), 'max.message.bytes');
    if (bytes === undefined || bytes >= largest) return [];
    return [
      `The ${role} topic '${name}' of binding '${binding.name}' takes records of up to ${bytes} bytes (max.message.bytes), but topic '${binding.topic}' of up to ${largest}: ${tooLarge(role)}. Raise max.message.bytes of '${name}' to ${largest} or more.`,
    ];
  });
}

const tooLarge = (role: NeededTopic['role']): string =>
  role === 'retry'
    ? 'a larger one that fails is not retried there'
    : 'a larger one that fails would block its partition';

/** Warns of compaction, which keeps one record per key and refuses records without a key. */
function compaction(
  binding: TopicUser,
  configs: ReadonlyMap<string, TopicConfig>,
): readonly string[] {
  return checkedTopics(binding).flatMap(({ name, role }) => {
    const policy = configs.get(name)?.['cleanup.policy'] ?? '';
    if (!policy.includes('compact')) return [];
    return [
      `The ${role} topic '${name}' of binding '${binding.name}' has cleanup.policy '${policy}': of several failed records with one key only the last would be kept, and one without a key is refused. Set cleanup.policy to 'delete'.`,
    ];
  });
}

const isDeleting = (config: TopicConfig | undefined): boolean =>
  (config?.['cleanup.policy'] ?? 'delete').includes('delete');

function numberOf(config: TopicConfig | undefined, entry: string): number | undefined {
  const value = config?.[entry];
  return value === undefined || value === null ? undefined : Number(value);
}
