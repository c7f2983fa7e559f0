import type { ConsumerOptions } from '@nest-event-bus/broker';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import type { ConsumingSettings } from '../consuming/session/consuming-session.js';

/** Time for the final commit and for joining the group again, after the drain. */
const REJOIN_GRACE_MS = 10_000;

/**
 * Delay between two deliveries of a record that stays in its place, if nothing else defines one.
 */
const FAILURE_BACKOFF = Object.freeze({ initialMs: 1_000, maxMs: 30_000 });

export function mainConsumer(binding: ResolvedBinding): ConsumerOptions {
  return {
    groupId: binding.groupId,
    topics: [binding.topic],
    groupProtocol: binding.groupProtocol,
    assignors: binding.assignmentStrategy,
    offsetReset: binding.offsetReset,
    isolation: 'read_committed',
    sessionTimeoutMs: binding.sessionTimeoutMs,
    heartbeatIntervalMs: binding.heartbeatIntervalMs,
    rebalanceTimeoutMs: rebalanceTimeout(binding),
    fetch: { maxWaitMs: binding.pollTimeoutMs },
  };
}

/** A retry topic is always read from its beginning: 'latest' would skip records that wait there. */
export function tierConsumer(binding: ResolvedBinding, tier: ResolvedTier): ConsumerOptions {
  return {
    ...mainConsumer(binding),
    groupId: tier.groupId,
    topics: [tier.topic],
    offsetReset: 'earliest',
  };
}

export function consumingSettings(binding: ResolvedBinding): ConsumingSettings {
  return {
    ackMode: binding.ackMode,
    strictCommits: binding.commit.strict,
    isTransactional: binding.transactions.enabled,
    listenerType: binding.listenerType,
    processing: binding.processing,
    stuckHandlerMs: binding.stuckHandlerMs,
    maxPollRecords: binding.maxPollRecords,
    maxPollIntervalMs: binding.maxPollIntervalMs,
    idleBetweenPollsMs: binding.idleBetweenPollsMs,
    rebalanceDrainTimeoutMs: binding.rebalance.drainTimeoutMs,
    failureBackoff: FAILURE_BACKOFF,
  };
}

/**
 * Returns a timeout that leaves time to drain, but within maxPollIntervalMs: one stuck member must
 * not block its group for ten minutes.
 */
function rebalanceTimeout(binding: ResolvedBinding): number {
  const { heartbeatIntervalMs, sessionTimeoutMs, maxPollIntervalMs, rebalance } = binding;
  const wanted = heartbeatIntervalMs + rebalance.drainTimeoutMs + REJOIN_GRACE_MS;
  return Math.min(Math.max(wanted, sessionTimeoutMs), maxPollIntervalMs);
}
