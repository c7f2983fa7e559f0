import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { LedgerAccess } from '../ledger/ledger-access.js';
import { LedgerClaim, type KeyedEntry } from '../ledger/ledger-claim.js';
import { ledgerKeys } from '../ledger/ledger-entry.js';
import { readStates } from '../ledger/read-states.js';
import { belongsTo, ReadLetter } from '../letters/read-letters.js';
import { LetterSelection } from '../planning/letter-selection.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import { requireSameTopic } from '../planning/require-same-topic.js';
import { statusAtPlan } from '../planning/status-at-plan.js';

/** What was deleted in one partition of the dead-letter topic. */
export interface PurgedPartition {
  readonly partition: number;
  /** The first offset that is still there. */
  readonly low: number;
  readonly deleted: number;
  /**
   * Why requested letters from `low` on were kept: a letter before them belongs to another binding,
   * or is open and not part of the plan. Kafka deletes only from the
   * beginning of a partition.
   */
  readonly stoppedBy?: 'other-binding' | 'not-in-plan';
}

export interface PurgeReport {
  readonly deleted: number;
  readonly partitions: readonly PurgedPartition[];
}

/** Until where each partition may be deleted, and why not further. */
export interface PurgeLimit {
  readonly partition: number;
  readonly low: number;
  readonly end: number;
  readonly stoppedBy?: PurgedPartition['stoppedBy'];
}

/** Letters are deleted until the first one that another binding owns. */
export async function limitsByAge(
  { admin, binding, topics }: LedgerAccess,
  before: number,
): Promise<readonly PurgeLimit[]> {
  // The ends are read first: a letter that arrives meanwhile then has a larger offset.
  const marks = await admin.watermarks(topics.deadLetters);
  const starts = await admin.offsetsAt(topics.deadLetters, before);
  return Promise.all(
    marks.map(async ({ partition, low, high }) => {
      const start = starts.find((each) => each.partition === partition)?.offset;
      const to = Math.min(start ?? high, high);
      for await (const record of admin.readRange(topics.deadLetters, partition, low, to))
        if (!belongsTo(new ReadLetter(record), binding))
          return { partition, low, end: record.offset, stoppedBy: 'other-binding' as const };
      return { partition, low, end: Math.max(low, to) };
    }),
  );
}

/** Letters are deleted until the first open one that the plan does not select. */
export async function limitsByPlan(
  access: LedgerAccess,
  plan: RedrivePlan,
): Promise<readonly PurgeLimit[]> {
  const { admin, binding, topics } = access;
  requireSameTopic(plan, topics);
  const { filter, maxReplays } = plan;
  const selection = new LetterSelection({ owner: binding, filter, maxReplays });
  const marks = await admin.watermarks(topics.deadLetters);
  return Promise.all(
    plan.partitions.map(async (planned) => {
      const { partition, to } = planned;
      const low = marks.find((each) => each.partition === partition)?.low ?? to;
      const states = await readStates(access, partition);
      for await (const record of admin.readRange(topics.deadLetters, partition, low, to)) {
        const letter = new ReadLetter(record);
        const end = letter.offset;
        if (!belongsTo(letter, binding))
          return { partition, low, end, stoppedBy: 'other-binding' as const };
        if (states.statusOf(end) !== 'open') continue;
        const planStatus = statusAtPlan(end, states, planned);
        // A letter whose status at the plan is unknown is kept.
        if (planStatus === undefined || selection.decide(letter, planStatus) !== 'selected')
          return { partition, low, end, stoppedBy: 'not-in-plan' as const };
      }
      return { partition, low, end: Math.max(low, to) };
    }),
  );
}

/**
 * Deletes the letters before the limits, and then their entries in the ledger. A crash in between
 * leaves entries of letters that no longer exist; the next purge deletes them.
 */
export async function purgeLetters(
  access: LedgerAccess,
  limits: readonly PurgeLimit[],
  runtime: Runtime,
): Promise<PurgeReport> {
  const { admin, topics } = access;
  const deleting = limits.filter(({ low, end }) => end > low);
  if (deleting.length > 0)
    await admin.deleteRecords(
      topics.deadLetters,
      deleting.map(({ partition, end }) => ({ partition, offset: end })),
    );
  for (const { partition, end } of limits) await forgetLetters(access, partition, end, runtime);
  const partitions = limits.map(({ partition, low, end, stoppedBy }) => ({
    partition,
    low: end,
    deleted: end - low,
    ...(stoppedBy && { stoppedBy }),
  }));
  return { deleted: partitions.reduce((sum, { deleted }) => sum + deleted, 0), partitions };
}

async function forgetLetters(
  { admin, driver, topics }: LedgerAccess,
  partition: number,
  end: number,
  runtime: Runtime,
): Promise<void> {
  const known = (await readStates({ admin, topics }, partition)).lettersBefore(end);
  if (known.length === 0) return;
  const claimant = { partition, operation: 'purge', signal: new AbortController().signal };
  const claim = await LedgerClaim.open({ admin, driver, topics, runtime }, claimant);
  try {
    const tombstones = claim.states
      .lettersBefore(end)
      .map((offset): KeyedEntry => [
        ledgerKeys.letter(topics.deadLetterTopicId, partition, offset),
        null,
      ]);
    for (let first = 0; first < tombstones.length; first += ENTRIES_PER_TRANSACTION)
      await claim.commit([], tombstones.slice(first, first + ENTRIES_PER_TRANSACTION));
    await claim.release();
  } finally {
    await claim.close();
  }
}

const ENTRIES_PER_TRANSACTION = 1_000;
