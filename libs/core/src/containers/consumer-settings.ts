import type { ConsumerOptions } from '@nest-event-bus/broker';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import type { ConsumingSettings } from '../consuming/session/consuming-session.js';

/** For the commit and the way back into the group, after the handlers were given their time. */
const REJOIN_GRACE_MS = 10_000;

/** Between two deliveries of a record that stays in its place, where nothing else says how long. */
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

/** A tier reads its topic from the beginning whatever the binding says: 'latest' would skip records that wait there. */
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

/** Long enough to drain, and never so long that one stuck member holds its group for ten minutes. */
function rebalanceTimeout(binding: ResolvedBinding): number {
  const { heartbeatIntervalMs, sessionTimeoutMs, maxPollIntervalMs, rebalance } = binding;
  const wanted = heartbeatIntervalMs + rebalance.drainTimeoutMs + REJOIN_GRACE_MS;
  return Math.min(Math.max(wanted, sessionTimeoutMs), maxPollIntervalMs);
}
