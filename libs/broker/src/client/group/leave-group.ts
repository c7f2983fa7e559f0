import type { DriverLogger } from '../../port/driver.js';
import {
  consumerLeaveRequest,
  leaveRequest,
  type ApiRequest,
  type ConsumerMember,
} from '../../wire/index.js';
import type { GroupCoordinator } from './group-coordinator.js';

/**
 * Longer than the one second for which a broker throttles a client above its request quota, and
 * short enough for a close within two seconds.
 */
const LEAVE_TIMEOUT_MS = 1_500;

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
