import { ownError, type TopicPartition, UnknownTopicError } from '@nest-event-bus/broker';
import type { ConsumingStatus, PartitionPause } from '../../consuming/session/consuming-session.js';
import type { PauseReason } from '../../consuming/pauses/pause-reason.js';

/** Ordered from worst to best: a container shows the worst of its sessions. */
const FROM_WORST_TO_BEST = [
  'failed',
  'retrying',
  'topic-missing',
  'starting',
  'draining',
  'joined',
  'stopped',
] as const;

export type ContainerCondition = (typeof FROM_WORST_TO_BEST)[number];

/** Status of one container, aggregated from its sessions. */
export type ContainerStatus = ContainerDetails &
  (
    | { readonly state: 'stopped' | 'starting' | 'joined' | 'draining' }
    /**
     * The state is `failed` if another process has the static member id of a session, which does
     * not recover by itself.
     */
    | { readonly state: 'retrying' | 'topic-missing' | 'failed'; readonly error: Error }
  );

export interface ContainerDetails {
  /**
   * Milliseconds since 1970. Begin of the first error, or the time at which the last session
   * joined.
   */
  readonly since: number;
  readonly assignment: readonly TopicPartition[];
  /** Pauses of whole sessions. Pauses of single partitions are in `partitionPauses`. */
  readonly pauses: readonly PauseReason[];
  readonly partitionPauses: readonly PartitionPause[];
  readonly runningHandlers: number;
  readonly oldestHandlerSince: number | undefined;
  /** Handlers that run for longer than `stuckHandlerMs`. */
  readonly stuckHandlers: number;
}

/** The part of a session that its container uses. */
export interface SessionView {
  readonly status: ConsumingStatus;
  /** Set if `start` rejected with another error than ClosedError. */
  readonly failure: { readonly error: Error; readonly since: number } | undefined;
}

interface SessionCondition {
  readonly state: ContainerCondition;
  readonly since: number;
  readonly error: Error | undefined;
}

/** Returns the status of a container. `stoppedSince` is used if it has no sessions. */
export function aggregate(views: readonly SessionView[], stoppedSince: number): ContainerStatus {
  const conditions = views.map(conditionOf);
  const state =
    FROM_WORST_TO_BEST.find((candidate) => conditions.some((one) => one.state === candidate)) ??
    'stopped';
  const concerned = conditions.filter((one) => one.state === state);
  const details = detailsOf(views, sinceOf(state, concerned) ?? stoppedSince);
  switch (state) {
    case 'failed':
    case 'retrying':
    case 'topic-missing':
      return { ...details, state, error: firstErrorOf(concerned) };
    case 'starting':
    case 'draining':
    case 'joined':
    case 'stopped':
      return { ...details, state };
  }
}

function conditionOf({ status, failure }: SessionView): SessionCondition {
  if (failure) return { state: 'failed', ...failure };
  return { state: stateOf(status), since: status.since, error: status.error };
}

function stateOf({ state, error }: ConsumingStatus): ContainerCondition {
  switch (state) {
    case 'idle':
    case 'joining':
      return 'starting';
    case 'retrying':
      return error instanceof UnknownTopicError ? 'topic-missing' : 'retrying';
    case 'closed':
      return 'stopped';
    case 'joined':
    case 'draining':
    case 'failed':
      return state;
  }
}

function sinceOf(
  state: ContainerCondition,
  concerned: readonly SessionCondition[],
): number | undefined {
  if (concerned.length === 0) return undefined;
  const times = concerned.map(({ since }) => since);
  return state === 'joined' || state === 'stopped' ? Math.max(...times) : Math.min(...times);
}

function firstErrorOf(concerned: readonly SessionCondition[]): Error {
  const first = concerned.find(({ error }) => error !== undefined);
  return first?.error ?? ownError(new Error('The session did not say why.'));
}

function detailsOf(views: readonly SessionView[], since: number): ContainerDetails {
  const all = views.map(({ status }) => status);
  const handlersSince = all.flatMap(({ oldestHandlerSince }) => oldestHandlerSince ?? []);
  return {
    since,
    assignment: all.flatMap(({ assignment }) => assignment),
    pauses: [...new Set(all.flatMap(({ pauses }) => pauses))],
    partitionPauses: all.flatMap(({ partitionPauses }) => partitionPauses),
    runningHandlers: all.reduce((sum, { runningHandlers }) => sum + runningHandlers, 0),
    oldestHandlerSince: handlersSince.length === 0 ? undefined : Math.min(...handlersSince),
    stuckHandlers: all.reduce((sum, { stuckHandlers }) => sum + stuckHandlers, 0),
  };
}
