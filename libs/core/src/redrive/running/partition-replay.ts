import {
  AuthorizationError,
  errorReasonOf,
  RecordTooLargeError,
  SendError,
  type AdminSession,
  type DriverLogger,
  type OutgoingRecord,
  type RecordOutcome,
} from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import { forgetLetters } from '../ledger/forget-letters.js';
import { isFence } from '../ledger/claims/is-fence.js';
import { LedgerClaim, type LedgerClaimParts } from '../ledger/claims/ledger-claim.js';
import { ledgerKeys, type ProgressEntry } from '../ledger/ledger-entry.js';
import { ledgerPartitionOf } from '../ledger/ledger-topic.js';
import { readLedger } from '../ledger/read-ledger.js';
import type { ReadLetter } from '../letters/read-letters.js';
import type { LetterSelection } from '../planning/letter-selection.js';
import type { PlannedPartition, RedrivePlan } from '../planning/redrive-plan.js';
import { finishPurge } from '../purging/purge-intent.js';
import { triedIn } from '../canary/canary-quotas.js';
import { replayIdOf } from '../outcomes/replay-id.js';
import type { ReplayRate } from '../pacing/replay-rate.js';
import { SkipCounter } from '../planning/skip-counter.js';
import { canHeal } from './can-heal.js';
import { letterBatches, type LetterBatch } from './letter-batches.js';
import { readAhead } from './read-ahead.js';
import { replayEntries } from './replay-entries.js';
import { replayedRecord, type ReplayDestination } from './replayed-record.js';

export interface PartitionReplayParts extends LedgerClaimParts {
  readonly admin: Pick<AdminSession, 'deleteRecords' | 'readRange' | 'watermarks'>;
  readonly plan: RedrivePlan;
  readonly planned: PlannedPartition;
  readonly selection: LetterSelection;
  readonly destination: ReplayDestination;
  readonly rate: ReplayRate;
  readonly by: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Aborts when this process stops the run. */
  readonly signal: AbortSignal;
  /** The run of the partition ends after so many letters; Infinity for no limit. */
  readonly quota: number;
  /** Returns whether the next batch may be written. */
  mayReplay(): Promise<boolean>;
  onProgress(progress: ProgressEntry): void;
}

/** After this time without an entry in the ledger, the node that has fenced this one is gone. */
const SILENCE_MS = 10_000;
const LOOK_EVERY_MS = 500;
const RETRY = { initialMs: 200, maxMs: 10_000 };

/** Some letters of a batch can never be written. The batch is repeated without them. */
class LettersRefusedError extends Error {}

type Progress = Pick<ProgressEntry, 'next' | 'replayed' | 'skipped' | 'failed' | 'isDone'>;

/**
 * Replays what a plan selected in one partition of the dead-letter topic. Each batch is one
 * transaction, if the cluster allows any: the replayed records, an entry of the ledger topic for each
 * letter, and the progress. After any failure the replay continues from the progress in the ledger
 * topic.
 */
export class PartitionReplay {
  /** Letters that the target topic refuses. They stay open. */
  readonly #refused = new Set<number>();
  /** The end offset of the ledger topic when the last claim of this partition began. */
  #claimedAt = 0;

  constructor(private readonly parts: PartitionReplayParts) {}

  /**
   * Resolves when the partition is done, its quota is reached, `mayReplay` refuses the next batch, or
   * the signal has aborted.
   */
  async run(): Promise<void> {
    const { runtime, signal } = this.parts;
    const backoff = new Backoff(runtime, RETRY);
    while (!signal.aborted) {
      try {
        await this.#claimAndReplay(() => backoff.reset());
        return;
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, backoff);
      }
    }
  }

  async #claimAndReplay(onCommitted: () => void): Promise<void> {
    const { plan, planned, signal } = this.parts;
    const { partition } = planned;
    const { delivery = 'exactly-once' } = plan;
    const parts = { ...this.parts, delivery };
    const claim = await LedgerClaim.open(parts, { partition, operation: plan.id, signal });
    this.#claimedAt = claim.states.end;
    try {
      await finishPurge(this.parts, claim);
      await this.#replay(claim, onCommitted);
      await forgetLetters(claim, await this.#firstLetter(), this.parts);
      await claim.release();
    } finally {
      await claim.close();
    }
  }

  async #replay(claim: LedgerClaim, onCommitted: () => void): Promise<void> {
    const { admin, plan, planned, quota, rate, selection, signal } = this.parts;
    let progress = claim.states.progressOf(plan.id) ?? this.#entryOf(nothing(planned));
    this.parts.onProgress(progress);
    const isFinished = (): boolean => progress.isDone || triedIn(progress) >= quota;
    if (isFinished()) return;
    const toTry = quota - triedIn(progress);
    const { states } = claim;
    const batches = letterBatches({
      ...{ admin, planned, selection, signal, states },
      topic: plan.deadLetterTopic,
      from: progress.next,
      // The next batch is read before the present one is counted in the progress.
      batchSize: (before) => Math.min(rate.batchSize, toTry - before),
    });
    for await (const batch of readAhead(batches)) {
      await claim.keepWhile(rate.take(batch.letters.length, signal));
      if (signal.aborted || !(await this.parts.mayReplay())) return;
      progress = await this.#commit(claim, batch, progress);
      this.parts.onProgress(progress);
      onCommitted();
      if (isFinished()) return;
    }
  }

  /** Letters before this offset were deleted by a purge or by the retention. */
  async #firstLetter(): Promise<number> {
    const { admin, plan, planned } = this.parts;
    const marks = await admin.watermarks(plan.deadLetterTopic);
    return marks.find(({ partition }) => partition === planned.partition)?.low ?? 0;
  }

  async #commit(claim: LedgerClaim, batch: LetterBatch, before: Progress): Promise<ProgressEntry> {
    const { destination, plan, runtime } = this.parts;
    const letters = this.#acceptable(batch);
    const at = runtime.now();
    const records = letters.map((letter) => {
      const { partition, offset } = letter.record;
      const replayId = replayIdOf({ operation: plan.id, partition, offset });
      return replayedRecord(letter, destination, { replayId, at });
    });
    try {
      return await this.#write(claim, records, { batch, before, at });
    } catch (error) {
      const to = destination.topic;
      if (!this.#hasRefused(error, letters))
        throw isRightMissing(error) ? rightMissing(plan.binding, to, claim, error) : error;
      if (claim.delivery === 'exactly-once' || !isRestWritten(error))
        throw new LettersRefusedError();
      // The other letters were replayed, so only the ledger must still say so.
      return this.#write(claim, [], { batch, before, at });
    }
  }

  /** Writes records, and to the ledger that all letters of the batch but the refused are replayed. */
  async #write(
    claim: LedgerClaim,
    records: readonly OutgoingRecord[],
    { batch, before, at }: { batch: LetterBatch; before: Progress; at: number },
  ): Promise<ProgressEntry> {
    const { by, destination, plan, planned, topics } = this.parts;
    const letters = this.#acceptable(batch);
    const progress = this.#entryOf(advanced(before, batch, letters.length, planned));
    const entries = replayEntries(letters, claim.states, {
      ...{ by, at, partition: planned.partition, topicId: topics.deadLetterTopicId },
      ...{ operation: plan.id, to: destination.topic },
    });
    const progressKey = ledgerKeys.progress(plan.id, planned.partition);
    await claim.commit(records, [...entries, [progressKey, progress]]);
    return progress;
  }

  #acceptable({ letters }: LetterBatch): readonly ReadLetter[] {
    return letters.filter(({ offset }) => !this.#refused.has(offset));
  }

  #entryOf(progress: Progress): ProgressEntry {
    return { kind: 'progress', ...progress, at: this.parts.runtime.now() };
  }

  /** Remembers the letters that can never be written, so that they do not stop the others. */
  #hasRefused(error: unknown, letters: readonly ReadLetter[]): boolean {
    const outcomes = error instanceof SendError ? error.outcomes : [];
    const { topic } = this.parts.destination;
    // Without transactions the outcomes may be those of ledger entries.
    const refused = letters.filter(
      (_, index) => outcomes[index]?.topic === topic && isTooLarge(outcomes[index]),
    );
    for (const { offset } of refused) {
      this.#refused.add(offset);
      this.parts.logger.warn(
        'A dead letter is too large for the topic it would be replayed to. It stays open. Raise max.message.bytes of that topic',
        this.#context({ offset, to: this.parts.destination.topic }),
      );
    }
    return refused.length > 0;
  }

  async #recover(error: unknown, backoff: Backoff): Promise<void> {
    const { logger, runtime, signal } = this.parts;
    const isSleeping = (): Promise<void> =>
      sleep(runtime, backoff.next(), signal).catch(() => undefined);
    if (isFence(error)) return this.#waitForOther();
    // The next claim goes on without the refused letters.
    if (error instanceof LettersRefusedError) return undefined;
    if (!canHeal(error)) throw error;
    logger.warn(
      'A batch of a redrive failed. It goes on from what was committed',
      this.#context({ reason: errorReasonOf(error) }),
    );
    return isSleeping();
  }

  /**
   * Waits until the node that has fenced this one releases the partition, or has written nothing
   * for a while. If that node has finished the plan, the next claim finds it done.
   */
  async #waitForOther(): Promise<void> {
    const { logger, runtime, signal } = this.parts;
    logger.info('Another node writes the ledger of this partition now', this.#context({}));
    let from = this.#claimedAt;
    let changedAt = runtime.monotonic();
    while (runtime.monotonic() - changedAt < SILENCE_MS && !signal.aborted) {
      const seen = await this.#entriesFrom(from);
      if (seen.isReleased) return;
      if (seen.isActive) changedAt = runtime.monotonic();
      from = seen.end;
      await sleep(runtime, LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  }

  /** Outcomes are written by consumers, so they do not show that another node replays. */
  async #entriesFrom(from: number): Promise<{
    readonly end: number;
    readonly isActive: boolean;
    readonly isReleased: boolean;
  }> {
    const { admin, planned, topics } = this.parts;
    const partition = ledgerPartitionOf(topics, planned.partition);
    const ownerKey = ledgerKeys.owner(planned.partition);
    let [end, isActive, isReleased] = [from, false, false];
    for await (const { key, entry, offset } of readLedger(admin, {
      topic: topics.ledger,
      partition,
      from,
    })) {
      end = offset + 1;
      isActive ||= entry?.kind !== 'outcome';
      if (key === ownerKey && entry?.kind === 'owner') isReleased = entry.isReleased;
    }
    return { end, isActive, isReleased };
  }

  #context(more: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { plan, planned } = this.parts;
    const { id: operation, binding, deadLetterTopic } = plan;
    return { binding, operation, deadLetterTopic, partition: planned.partition, ...more };
  }
}

function nothing({ from }: PlannedPartition): Progress {
  return { next: from, replayed: 0, skipped: {}, failed: 0, isDone: false };
}

/** Adds a batch to the progress. Planned letters that no longer exist are counted at the end. */
function advanced(
  before: Progress,
  { letters, skipped, next, isLast }: LetterBatch,
  written: number,
  { selected }: PlannedPartition,
): Progress {
  const skips = new SkipCounter(before.skipped);
  skips.add(skipped);
  const replayed = before.replayed + written;
  const failed = before.failed + letters.length - written;
  if (isLast) skips.count('deleted', selected - replayed - failed - skips.total);
  return { next, replayed, skipped: skips.counts(), failed, isDone: isLast };
}

function isTooLarge(outcome: RecordOutcome | undefined): boolean {
  return outcome?.state === 'not-written' && outcome.error instanceof RecordTooLargeError;
}

/** Returns whether all records were written except those that are too large. */
function isRestWritten(error: unknown): boolean {
  const outcomes = error instanceof SendError ? error.outcomes : [];
  return outcomes.every((outcome) => outcome.state === 'written' || isTooLarge(outcome));
}

function isRightMissing(error: unknown): boolean {
  const outcomes = error instanceof SendError ? error.outcomes : [];
  return outcomes.some(
    (outcome) => outcome.state === 'not-written' && outcome.error instanceof AuthorizationError,
  );
}

function rightMissing(
  binding: string,
  topic: string,
  { delivery }: LedgerClaim,
  cause: unknown,
): RedriveRefusedException {
  const effect =
    delivery === 'exactly-once'
      ? 'nothing of this batch was replayed'
      : 'some letters may be replayed again';
  return new RedriveRefusedException(
    binding,
    `the right to write to topic '${topic}' or to the ledger is missing, and ${effect}. Grant Write on both, and run the operation again.`,
    { cause },
  );
}
