import type { DriverLogger } from '../../port/driver.js';
import { leaveRequest } from '../wire/index.js';
import type { GroupCoordinator } from './group-coordinator.js';

const LEAVE_TIMEOUT_MS = 1_000;

/** One try, also while a join is pending: the group would wait for a ghost, for a session time-out. */
export async function leaveGroup(
  coordinator: GroupCoordinator,
  memberId: string,
  logger: DriverLogger,
): Promise<void> {
  const { groupId, lane } = coordinator;
  if (memberId === '') return;
  try {
    await coordinator.request(lane, leaveRequest(groupId, memberId), {
      timeoutMs: LEAVE_TIMEOUT_MS,
    });
  } catch (error) {
    logger.debug('The group could not be told that the member leaves.', { groupId, error });
  }
}
