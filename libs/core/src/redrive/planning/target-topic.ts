import { isPlainObject } from '../../config/reading/plain-object.js';
import { isTopicName } from '../../config/resolving/legal-topic-name.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { TierNotFoundException } from '../../errors/container-errors.js';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import { ledgerTopicOf } from '../ledger/ledger-topic.js';
import { refused } from '../letters/filter-conditions.js';
import type { RedriveTarget } from './redrive-plan.js';

/** Refuses what is no target, before anything is read. */
export function checkTarget(target: unknown): asserts target is RedriveTarget | undefined {
  if (target === undefined || target === 'origin') return;
  const [[kind, value] = [], ...others] = isPlainObject(target) ? Object.entries(target) : [];
  const isTier = kind === 'tier' && Number.isSafeInteger(value);
  const isTopic = kind === 'topic' && typeof value === 'string' && isTopicName(value);
  if (others.length > 0 || !(isTier || isTopic))
    throw refused('to', "must be 'origin', { tier: number } or { topic: name }");
}

/**
 * Returns the topic to which letters are replayed. Another topic must not be one that the bus writes
 * itself: a letter in a dead-letter topic would be a letter of nobody.
 */
export function targetTopicOf(
  binding: ResolvedBinding,
  target: RedriveTarget,
  all: readonly ResolvedBinding[],
): string {
  if (target === 'origin') return binding.topic;
  if ('topic' in target) {
    requireForeign(binding, target.topic, all);
    return target.topic;
  }
  const { tiers } = binding.retry;
  const tier = tiers.find(({ number }) => number === target.tier);
  if (tier) return tier.topic;
  const known = tiers.map(({ number }) => number);
  throw new TierNotFoundException(binding.name, target.tier, known);
}

function requireForeign(
  binding: ResolvedBinding,
  topic: string,
  all: readonly ResolvedBinding[],
): void {
  if (topic === binding.topic)
    throw new RedriveRefusedException(
      binding.name,
      `'${topic}' is the topic of the binding. Use 'origin' as the target, so that the records keep their history.`,
    );
  for (const owner of [binding, ...all].filter(({ cluster }) => cluster === binding.cluster)) {
    const retryTopics = owner.retry.tiers.map((tier) => tier.topic);
    if ([owner.dlt.topic, ledgerTopicOf(owner), ...retryTopics].includes(topic))
      throw new RedriveRefusedException(
        binding.name,
        `'${topic}' is a retry, dead-letter or ledger topic of binding '${owner.name}', which only the bus writes. Choose another topic, or a tier of the binding.`,
      );
  }
}
