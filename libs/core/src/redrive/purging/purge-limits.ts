import type { LedgerAccess } from '../ledger/ledger-access.js';
import type { PartitionStates } from '../ledger/partition-states.js';
import { belongsTo, ReadLetter } from '../letters/read-letters.js';
import { LetterSelection } from '../planning/letter-selection.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import { requireSameTopic } from '../planning/require-same-topic.js';
import { statusAtPlan } from '../planning/status-at-plan.js';
import type { PurgedPartition } from './purge-report.js';

/** Why a purge does not go further. */
type PurgeStop = NonNullable<PurgedPartition['stoppedBy']>;

/** Until where one partition may be deleted, and why not further. */
export interface PurgeLimit {
  /** The offset after the last letter to delete. */
  readonly end: number;
  /** The number of letters before it. */
  readonly letters: number;
  readonly stoppedBy?: PurgeStop;
}

/** Decides until where a partition may be deleted, by what its claim has found. */
export interface PurgeRule {
  readonly partition: number;
  limit(low: number, states: PartitionStates): Promise<PurgeLimit>;
}

type Stop = (letter: ReadLetter) => PurgeStop | undefined;

/** Letters are deleted until the first one that another binding owns. */
export async function rulesByAge(
  access: LedgerAccess,
  before: number,
): Promise<readonly PurgeRule[]> {
  const { admin, binding, topics } = access;
  // The ends are read first: a letter that arrives meanwhile then has a larger offset.
  const marks = await admin.watermarks(topics.deadLetters);
  const starts = await admin.offsetsAt(topics.deadLetters, before);
  const stop: Stop = (letter) => (belongsTo(letter, binding) ? undefined : 'other-binding');
  return marks.map(({ partition, high }) => {
    const start = starts.find((each) => each.partition === partition)?.offset;
    const to = Math.min(start ?? high, high);
    return { partition, limit: (low) => limitOf(access, { partition, low, to }, stop) };
  });
}

/** Letters are deleted until the first open one that the plan does not select. */
export function rulesByPlan(access: LedgerAccess, plan: RedrivePlan): readonly PurgeRule[] {
  const { binding, topics } = access;
  requireSameTopic(plan, topics);
  const { filter, maxReplays } = plan;
  const selection = new LetterSelection({ owner: binding, filter, maxReplays });
  return plan.partitions.map((planned) => {
    const { partition, to } = planned;
    const stopOf =
      (states: PartitionStates): Stop =>
      (letter) => {
        if (!belongsTo(letter, binding)) return 'other-binding';
        if (states.statusOf(letter.offset) !== 'open') return undefined;
        const planStatus = statusAtPlan(letter.offset, states, planned);
        // A letter whose status at the plan is unknown is kept.
        if (planStatus === undefined) return 'not-in-plan';
        return selection.decide(letter, planStatus) === 'selected' ? undefined : 'not-in-plan';
      };
    return {
      partition,
      limit: (low, states) => limitOf(access, { partition, low, to }, stopOf(states)),
    };
  });
}

/** Only letters that were read are deleted: an open transaction may hide others behind them. */
async function limitOf(
  { admin, topics }: LedgerAccess,
  { partition, low, to }: { readonly partition: number; readonly low: number; readonly to: number },
  stop: Stop,
): Promise<PurgeLimit> {
  let [end, letters] = [low, 0];
  for await (const record of admin.readRange(topics.deadLetters, partition, low, to)) {
    const stoppedBy = stop(new ReadLetter(record));
    if (stoppedBy) return { end, letters, stoppedBy };
    end = record.offset + 1;
    letters++;
  }
  return { end, letters };
}
