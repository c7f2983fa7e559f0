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
import { againAfter, type AdminCall, type Again } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { askCoordinator } from './group-request.js';
import { hasMembers } from './groups-admin.js';
import { requirePartition } from './known-topic.js';
import { COUNT, OFFSET, requireWhole } from './whole-number.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const SUBSCRIBED = 86;
const NO_SUCH_GROUP = 69;
/** Whoever is no member is refused as a stranger, or as late, once there are members. */
const REFUSED_AS_NO_MEMBER: readonly number[] = [22, 25, 27, 113];
const NOBODY = { generation: -1, memberId: '' };

export class GroupOffsetsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  /** Shows what is committed now, though an open transaction may be about to change it. */
  read(
    groupId: string,
    topics?: readonly string[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    const doing = `Reading the offsets of group "${groupId}"`;
    const request = offsetFetchRequest(groupId, 'all', { stable: false });
    return this.calls.run(doing, (call) =>
      askCoordinator(call, groupId, request, ({ code, offsets }) => {
        const refused = code === 0 ? offsets.find((each) => each.code !== 0)?.code : code;
        if (refused !== undefined) return againAfter(refused, errorOfCode(refused, doing));
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
      const request = offsetCommitRequest({ groupId, ...NOBODY }, offsets);
      await askCoordinator<readonly PartitionCode[], void>(call, groupId, request, (answers) => {
        const stranger = answers.find(({ code }) => REFUSED_AS_NO_MEMBER.includes(code));
        if (stranger) throw hasMembers(groupId, 'Offsets cannot be set', stranger.code);
        return outcome(call, answers, doing);
      });
    });
  }

  delete(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    const doing = `Deleting offsets of group "${groupId}"`;
    return this.calls.run(doing, async (call) => {
      if (partitions.length === 0) return;
      const request = offsetDeleteRequest(groupId, partitions);
      await askCoordinator(call, groupId, request, ({ code, partitions: answers }) => {
        if (code === NO_SUCH_GROUP) throw noSuchGroup(groupId, code);
        if (code !== 0) return againAfter(code, errorOfCode(code, doing));
        return outcome(call, answers, doing);
      });
    });
  }
}

/** Undefined when all went well. What waiting cannot mend goes before what it can. */
async function outcome(
  call: AdminCall,
  answers: readonly PartitionCode[],
  doing: string,
): Promise<Again | undefined> {
  let again: Again | undefined;
  for (const answer of answers)
    if (answer.code !== 0)
      again = againAfter(answer.code, await partitionError(call, answer, doing));
  return again;
}

async function partitionError(
  call: AdminCall,
  { topic, partition, code }: PartitionCode,
  doing: string,
): Promise<BrokerError> {
  // One code for two things: which of them it was, the metadata tells.
  if (code === UNKNOWN_TOPIC_OR_PARTITION) await requirePartition(call, topic, partition);
  const advice = code === SUBSCRIBED ? '' : 'The other offsets of the call may have been changed.';
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
    requireWhole(`A partition of "${topic}"`, partition, COUNT);
    requireWhole(`The offset for partition ${partition} of "${topic}"`, offset, OFFSET);
  }
}
