import type { BrokerRecord } from '@nest-event-bus/broker';
import { isFinal, type Outcome, type SliceOutcome } from '../../model/outcomes/outcome.js';
import type { ReplayOutcome, ReplayOutcomes } from '../../model/outcomes/replay-outcomes.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { readRetryHistory } from '../../model/records/retry-history.js';
import { andThen } from '../and-then.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { isForeignReplay } from './foreign-replay.js';

/** Encoded once, because the name is looked for in every record. */
const REPLAY_ID = Buffer.from(EVENTBUS_HEADERS.replayId);

const foreign: Outcome = Object.freeze({ kind: 'discarded', reason: 'foreign' });

export interface ReplayedRecordsParts {
  readonly groupId: string;
  /** The tier from which the records come: 0 is the main topic. */
  readonly tier: number;
  /** Omitted if no outcomes are stored. */
  readonly outcomes?: ReplayOutcomes | undefined;
}

/**
 * Discards records that were replayed for another group, and stores how the replays of this group
 * end. All other records pass with one look at the names of their headers.
 */
export class ReplayedRecordsStep implements PipelineStep<SliceOutcome> {
  constructor(
    private readonly next: PipelineStep<SliceOutcome>,
    private readonly parts: ReplayedRecordsParts,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    const { record } = call.delivery;
    if (!mayBeReplayed(record)) return this.next.process(call);
    if (this.#isForeign(record)) return foreign;
    return andThen(this.next.process(call), this.#end, call);
  }

  /**
   * Processes the records before the next foreign one. If the slice begins with a foreign record,
   * processes only that one.
   */
  processSlice(
    slice: readonly RecordCall[],
  ): readonly SliceOutcome[] | Promise<readonly SliceOutcome[]> {
    if (!slice.some(({ delivery }) => mayBeReplayed(delivery.record)))
      return this.next.processSlice(slice);
    const end = slice.findIndex(({ delivery }) => this.#isForeign(delivery.record));
    if (end === 0) return [foreign];
    const segment = end === -1 ? slice : slice.slice(0, end);
    return andThen(this.next.processSlice(segment), this.#endSlice, segment);
  }

  /** A retry topic is read by one group only, and another step skips what is not meant for it. */
  #isForeign(record: BrokerRecord): boolean {
    const { groupId, tier } = this.parts;
    return tier === 0 && mayBeReplayed(record) && isForeignReplay(record, groupId);
  }

  readonly #endSlice = (
    outcomes: readonly SliceOutcome[],
    segment: readonly RecordCall[],
  ): readonly SliceOutcome[] =>
    outcomes.map((outcome, index) => {
      const call = segment[index]!;
      return mayBeReplayed(call.delivery.record) ? andThen(outcome, this.#end, call) : outcome;
    });

  /** Stores a final outcome before the offset of the record can be committed. */
  readonly #end = (outcome: Outcome, { delivery }: RecordCall): Outcome | Promise<Outcome> => {
    const { outcomes, tier } = this.parts;
    const ended = replayOutcomeOf(outcome, tier);
    if (!outcomes || !ended) return outcome;
    const { replayId } = readRetryHistory(delivery.record, tier);
    if (replayId === undefined) return outcome;
    return outcomes.store(replayId, ended).then(() => outcome);
  };
}

/** Returns undefined if the record goes on: in its place, or in a retry topic. */
function replayOutcomeOf(outcome: Outcome, tier: number): ReplayOutcome | undefined {
  if (!isFinal(outcome)) return undefined;
  switch (outcome.kind) {
    case 'succeeded':
      return { result: 'handled', tier };
    case 'discarded':
      return { result: 'discarded', tier, reason: outcome.reason };
    case 'dead-lettered':
      return { result: 'dead-lettered', tier, reason: outcome.cause };
    default:
      return undefined;
  }
}

/** Avoids that the headers of every record are decoded. */
function mayBeReplayed(record: BrokerRecord): boolean {
  if (record.hasHeader) return record.hasHeader(REPLAY_ID);
  return headerText(record.headers, EVENTBUS_HEADERS.replayId) !== undefined;
}
