import type { DriverLogger } from '../../port/driver.js';
import {
  consumerLeaveRequest,
  leaveRequest,
  type ApiRequest,
  type ConsumerMember,
} from '../../wire/index.js';
import type { GroupCoordinator } from './group-coordinator.js';

/**
 * Longer than the second for which a broker over whose request quota we are wants to be left alone;
 * and a close is to end within two.
 */
const LEAVE_TIMEOUT_MS = 1_500;

/** One try, also while a join is pending: the group would wait for a ghost, for a session time-out. */
export async function leaveGroup(
  coordinator: GroupCoordinator,
  memberId: string,
  logger: DriverLogger,
): Promise<void> {
  if (memberId !== '')
    await sendLeave(coordinator, leaveRequest(coordinator.groupId, memberId), logger);
}

/** A static member says that it may come back: until then nobody else could have its instance id. */
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
    logger.debug('The group could not be told that the member leaves.', { groupId, error });
  }
}
