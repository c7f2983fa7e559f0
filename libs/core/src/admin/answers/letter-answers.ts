import type { AdminLetter, AdminLetterStats, AdminPayload } from '../api/schemas/letter-schemas.js';
import { printedKey } from '../../model/records/record-key.js';
import type { ListedDeadLetter } from '../../redrive/letters/list-letters.js';
import type { CauseGroup } from '../../redrive/planning/redrive-plan.js';
import type { DltStats } from '../../redrive/stats/dlt-stats.js';
import { answerTime } from './answer-time.js';

type Position = ListedDeadLetter['position'];

export function positionAnswer({ partition, offset }: Position): AdminLetter['position'] {
  return { partition, offset: String(offset) };
}

/** Leaves out the value and the values of the headers, because either may be a secret. */
export function letterAnswer(listed: ListedDeadLetter): AdminLetter {
  const { position, status, group, decision, letter } = listed;
  return {
    ...{ position: positionAnswer(position), status, group },
    originalTopic: letter.originalTopic,
    originalPartition: letter.originalPartition,
    originalOffset: String(letter.originalOffset),
    deadLetteredAt: answerTime(letter.dltTimestamp),
    reason: letter.dltReason,
    ...(letter.dltCause !== undefined && { cause: letter.dltCause }),
    exceptionClass: letter.lastExceptionClass,
    exceptionMessage: letter.lastExceptionMessage,
    totalAttempts: letter.totalAttempts,
    replays: letter.replayCount,
    isPoison: letter.isPoison,
    key: printedKey(letter.key),
    valueBytes: letter.value?.length ?? null,
    headerNames: letter.headers.map(({ key }) => key),
    ...(decision && { decision: decisionAnswer(decision) }),
  };
}

function decisionAnswer({
  status,
  at,
  by,
  times,
  operation,
  reason,
  to,
}: NonNullable<ListedDeadLetter['decision']>): AdminLetter['decision'] {
  return {
    ...{ status, at: answerTime(at), by, times },
    ...(operation !== undefined && { operation }),
    ...(reason !== undefined && { reason }),
    ...(to !== undefined && { to }),
  };
}

export function payloadAnswer({ position, letter }: ListedDeadLetter): AdminPayload {
  return {
    position: positionAnswer(position),
    ...textOf(letter.value),
    headers: letter.headers.map(({ key, value }) => ({ name: key, ...textOf(value) })),
  };
}

/** Bytes that are no UTF-8 would be changed by a text. */
function textOf(bytes: Buffer | null | undefined): Pick<AdminPayload, 'encoding' | 'value'> {
  if (bytes === null || bytes === undefined) return { encoding: 'utf8', value: null };
  const value = bytes.toString('utf8');
  return Buffer.from(value).equals(bytes)
    ? { encoding: 'utf8', value }
    : { encoding: 'base64', value: bytes.toString('base64') };
}

export function groupAnswer(group: CauseGroup): AdminLetterStats['groups'][number] {
  const { id, exceptionClass, cause, count, firstSeen, lastSeen } = group;
  return {
    ...{ id, exceptionClass, count },
    firstSeen: answerTime(firstSeen),
    lastSeen: answerTime(lastSeen),
    ...(cause !== undefined && { cause }),
  };
}

export function statsAnswer(stats: DltStats): AdminLetterStats {
  const { deadLetterTopic, count, byStatus, byException, byReason, byTier, byAge } = stats;
  const { oldest, newest, sampled, groups, byOriginalPartition } = stats;
  return {
    ...{ deadLetterTopic, count, byStatus, byException, byReason, byTier, byOriginalPartition },
    byAge,
    groups: groups.map(groupAnswer),
    ...(oldest !== undefined && { oldest: answerTime(oldest) }),
    ...(newest !== undefined && { newest: answerTime(newest) }),
    ...(sampled && { sampled }),
  };
}
