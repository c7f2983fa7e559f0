import type { DriverLogger } from '../../port/driver.js';
import { Backoff, sleep } from '../../runtime/index.js';
import {
  consumerLeaveRequest,
  errorOfCode,
  leaveRequest,
  reactionTo,
  type ApiRequest,
  type ConsumerMember,
} from '../../wire/index.js';
import type { GroupCoordinator } from './group-coordinator.js';
import { retryUrgencyAfter } from './retry-urgency.js';

/**
 * Longer than the one second for which a broker throttles a client above its request quota, and
 * short enough for a close within two seconds.
 */
const LEAVE_TIMEOUT_MS = 1_500;
const LEAVE_RETRY = { initialMs: 100, maxMs: 2_000 };

/**
 * Sends LeaveGroup once, also while a join is pending. Otherwise the group would wait for this
 * member until its session timeout.
 */
export async function leaveGroup(
  coordinator: GroupCoordinator,
  memberId: string,
  logger: DriverLogger,
): Promise<void> {
  if (memberId !== '')
    await sendLeave(coordinator, leaveRequest(coordinator.groupId, memberId), logger);
}

/**
 * Leaves the group. A static member reports that it may return. Without this request no other
 * member could use its instance id until the session timeout.
 */
export function leaveConsumerGroup(
  coordinator: GroupCoordinator,
  member: ConsumerMember,
  logger: DriverLogger,
): Promise<void> {
  return sendLeave(coordinator, consumerLeaveRequest(member), logger);
}

export interface PersistentLeaveOptions {
  readonly coordinator: GroupCoordinator;
  readonly member: ConsumerMember;
  /** Session timeout of the broker. After it, the group has removed the member by itself. */
  readonly sessionMs: number;
  readonly onError: (error: Error) => void;
  /** Ends the attempts; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Leaves the group and repeats the request until the coordinator answers or the session has
 * expired. A coordinator that restarts keeps the old member for a whole session timeout, and the
 * next member gets its partitions only after that.
 *
 * A return under the old member id is no way out: Kafka 4.1 refuses epoch 0 of a known member
 * (FENCED_MEMBER_EPOCH, for a static member UNRELEASED_INSTANCE_ID). Each request names the old id,
 * so a request that arrives late cannot remove the next member.
 */
export async function leaveConsumerGroupForCertain(options: PersistentLeaveOptions): Promise<void> {
  const { coordinator, member, sessionMs, onError, signal } = options;
  const { runtime } = coordinator;
  const backoff = new Backoff(runtime, LEAVE_RETRY);
  const expiresAt = runtime.monotonic() + sessionMs;
  for (;;) {
    const error = await tryLeave(coordinator, member, signal);
    if (!error) return;
    onError(error);
    const remainingMs = expiresAt - runtime.monotonic();
    if (remainingMs <= 0) return;
    await sleep(runtime, Math.min(backoff.next(), remainingMs), signal);
  }
}

/** Returns the error if another attempt may succeed. */
async function tryLeave(
  coordinator: GroupCoordinator,
  member: ConsumerMember,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const { channel, groupId } = coordinator;
  try {
    const { node, answer } = await coordinator.request(channel, consumerLeaveRequest(member), {
      timeoutMs: LEAVE_TIMEOUT_MS,
      signal,
    });
    const { errorCode } = answer;
    const reaction = reactionTo('consumerHeartbeat', errorCode);
    if (reaction === 'find-coordinator') coordinator.forget(node);
    else if (reaction !== 'retry') return undefined;
    return errorOfCode(errorCode, `Group "${groupId}": the lost member could not leave`);
  } catch (error) {
    signal.throwIfAborted();
    return retryUrgencyAfter(error) === 'soon' ? (error as Error) : undefined;
  }
}

async function sendLeave(
  coordinator: GroupCoordinator,
  request: ApiRequest<unknown>,
  logger: DriverLogger,
): Promise<void> {
  const { groupId, channel } = coordinator;
  try {
    await coordinator.request(channel, request, { timeoutMs: LEAVE_TIMEOUT_MS });
  } catch (error) {
    logger.debug('The LeaveGroup request of the member failed.', { groupId, error });
  }
}
