import type { CommittedOffset, OffsetCommit } from '../../port/consumer.js';
import { RefusedError, type BrokerError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import {
  errorOfCode,
  offsetCommitRequest,
  offsetDeleteRequest,
  offsetFetchRequest,
  type PartitionCode,
} from '../../wire/index.js';
import { retryOrThrow, type AdminCall, type Retry } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { requestFromCoordinator } from './request-from-coordinator.js';
import { groupHasMembers } from './groups-admin.js';
import { requirePartition } from './require-topic.js';
import { COUNT, OFFSET, requireWholeNumber } from './require-whole-number.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const GROUP_SUBSCRIBED_TO_TOPIC = 86;
const GROUP_ID_NOT_FOUND = 69;
/**
 * The codes of a group that has members. The coordinator treats the admin's commit as one of an
 * unknown or outdated member.
 */
const NOT_A_MEMBER_CODES: readonly number[] = [22, 25, 27, 113];
const NO_MEMBER = { generation: -1, memberId: '' };

export class GroupOffsetsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  /**
   * Returns the offsets that are committed now, even if an open transaction is about to change
   * them.
   */
  read(
    groupId: string,
    topics?: readonly string[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    const doing = `Reading the offsets of group "${groupId}"`;
    const request = offsetFetchRequest(groupId, 'all', { stable: false });
    return this.calls.run(doing, (call) =>
      requestFromCoordinator(call, groupId, request, ({ code, offsets }) => {
        const refused = code === 0 ? offsets.find((each) => each.code !== 0)?.code : code;
        if (refused !== undefined) return retryOrThrow(refused, errorOfCode(refused, doing));
        return offsets.flatMap(({ topic, partition, committed }) =>
          committed && (!topics || topics.includes(topic))
            ? [{ topic, partition, ...committed }]
            : [],
        );
      }),
    );
  }

  set(groupId: string, offsets: readonly OffsetCommit[]): Promise<void> {
    const doing = `Setting offsets of group "${groupId}"`;
    return this.calls.run(doing, async (call) => {
      requireOffsets(offsets);
      if (offsets.length === 0) return;
      const request = offsetCommitRequest({ groupId, ...NO_MEMBER }, offsets);
      await requestFromCoordinator<readonly PartitionCode[], void>(
        call,
        groupId,
        request,
        (answers) => {
          const stranger = answers.find(({ code }) => NOT_A_MEMBER_CODES.includes(code));
          if (stranger) throw groupHasMembers(groupId, 'Offsets cannot be set', stranger.code);
          return resultOf(call, answers, doing);
        },
      );
    });
  }

  delete(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    const doing = `Deleting offsets of group "${groupId}"`;
    return this.calls.run(doing, async (call) => {
      if (partitions.length === 0) return;
      const request = offsetDeleteRequest(groupId, partitions);
      await requestFromCoordinator(call, groupId, request, ({ code, partitions: answers }) => {
        if (code === GROUP_ID_NOT_FOUND) throw noSuchGroup(groupId, code);
        if (code !== 0) return retryOrThrow(code, errorOfCode(code, doing));
        return resultOf(call, answers, doing);
      });
    });
  }
}

/**
 * Returns undefined if all partitions succeeded, or the error to reject with. A permanent error is
 * preferred to a retriable one.
 */
async function resultOf(
  call: AdminCall,
  answers: readonly PartitionCode[],
  doing: string,
): Promise<Retry | undefined> {
  let again: Retry | undefined;
  for (const answer of answers)
    if (answer.code !== 0)
      again = retryOrThrow(answer.code, await partitionError(call, answer, doing));
  return again;
}

async function partitionError(
  call: AdminCall,
  { topic, partition, code }: PartitionCode,
  doing: string,
): Promise<BrokerError> {
  // UNKNOWN_TOPIC_OR_PARTITION means an unknown topic or an unknown partition. The metadata show
  // which of the two.
  if (code === UNKNOWN_TOPIC_OR_PARTITION) await requirePartition(call, topic, partition);
  const advice =
    code === GROUP_SUBSCRIBED_TO_TOPIC
      ? ''
      : 'The other offsets of the call may have been changed.';
  return errorOfCode(code, `${doing}, partition ${partition} of "${topic}"`, advice);
}

function noSuchGroup(groupId: string, brokerCode: number): RefusedError {
  return new RefusedError(
    `Group "${groupId}" does not exist, so it has no offsets to delete. Check its name.`,
    false,
    { brokerCode },
  );
}

function requireOffsets(offsets: readonly OffsetCommit[]): void {
  for (const { topic, partition, offset } of offsets) {
    requireWholeNumber(`A partition of "${topic}"`, partition, COUNT);
    requireWholeNumber(`The offset for partition ${partition} of "${topic}"`, offset, OFFSET);
  }
}
