import {
  ClosedError,
  CommitError,
  FencedError,
  OffsetMetadataTooLargeError,
  type ConsumerSession,
  type OffsetCommit,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { Deferred, resolvesWithin } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import { partitionName } from '../lanes/partition-name.js';
import { CommitRetry, type CommitRetryParts } from './commit-retry.js';
import type { MetadataBudget } from './metadata-budget.js';

/** The part of a lane that the committer uses. */
export interface CommitSource extends TopicPartition {
  readonly name: string;
  /** Returns the offset to commit; undefined if nothing changed since the last commit. */
  commitPoint(): OffsetCommit | undefined;
  confirm(commit: OffsetCommit): void;
}

/** A commit request that was answered, or has failed. */
export interface AnsweredCommit {
  readonly commits: readonly OffsetCommit[];
  readonly tookMs: number;
  readonly error?: unknown;
}

export interface CommitterParts extends CommitRetryParts {
  readonly session: Pick<ConsumerSession, 'commit' | 'position'>;
  readonly budget: MetadataBudget;
  /** Called after each commit request. Never throws. */
  readonly onAnswered?: ((answered: AnsweredCommit) => void) | undefined;
}

interface PendingCommit {
  readonly lane: CommitSource;
  readonly commit: OffsetCommit;
}

/**
 * Commits the progress of lanes:
 *
 * 1. Changed lanes are collected.
 * 2. Their commit points are sent in one commit.
 * 3. The stored offsets are confirmed to the lanes.
 *
 * The consumer session combines, retries and orders its requests. Lanes that change during a commit
 * are collected for the next commit, so handlers never wait for the broker. If the session gives up
 * the commit of a lane, the lane stays changed until it is stored, or until its assignment ends.
 */
export class Committer {
  readonly #changed = new Set<CommitSource>();
  readonly #forgotten = new WeakSet<CommitSource>();
  readonly #retry: CommitRetry;
  /**
   * Resolves when the next commit has been answered. It contains all lanes that have changed by
   * then.
   */
  #nextCommit = new Deferred();
  #isRunning = false;
  #isClosed = false;

  constructor(private readonly parts: CommitterParts) {
    this.#retry = new CommitRetry(parts);
  }

  /**
   * Requests a commit of the lane's progress. If a commit is under way, the next one contains it.
   */
  request(lane: CommitSource): void {
    if (this.#isClosed) return;
    this.#changed.add(lane);
    if (!this.#isRunning) void this.#run();
  }

  /**
   * Resolves when the present progress is stored, or when it never will be because the assignment
   * has ended. Never rejects.
   */
  async whenStored(lane: CommitSource): Promise<void> {
    if (!hasProgress(lane)) return;
    do {
      if (this.#isOver(lane)) return;
      const { promise } = this.#nextCommit;
      this.request(lane);
      await promise;
    } while (this.#retry.has(lane));
  }

  /**
   * Returns whether the present progress of these lanes was stored within the timeout. Does not
   * wait for other lanes.
   */
  async flush(lanes: readonly CommitSource[], timeoutMs: number): Promise<boolean> {
    const stored = Promise.all(lanes.map((lane) => this.whenStored(lane)));
    this.#retry.endDelay();
    return resolvesWithin(this.parts.runtime, timeoutMs, stored);
  }

  /** Stops committing for this lane, because its assignment has ended. */
  forget(lane: CommitSource): void {
    this.#forgotten.add(lane);
    this.#changed.delete(lane);
    this.#retry.remove(lane);
    this.#retry.endDelay();
  }

  close(): void {
    this.#isClosed = true;
    for (const lane of [...this.#changed]) this.forget(lane);
  }

  #isOver(lane: CommitSource): boolean {
    return this.#isClosed || this.#forgotten.has(lane);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#changed.size > 0) {
      const answered = this.#nextCommit;
      this.#nextCommit = new Deferred();
      const error = await this.#commitChanged();
      answered.resolve();
      if (error) await this.#retry.delay(error);
    }
    this.#isRunning = false;
    // A lane may have been forgotten before its commit, so callers that wait for it have to check
    // again.
    this.#nextCommit.resolve();
    this.#nextCommit = new Deferred();
  }

  /** Sends one commit. Returns the error if the commit should be repeated after a delay. */
  async #commitChanged(): Promise<Error | undefined> {
    const { pending, bug } = this.#takeChanged();
    try {
      if (pending.length > 0) await this.#commit(pending);
      for (const each of pending) this.#confirm(each);
      return bug;
    } catch (error) {
      return this.#keepRefused(error as Error, pending) ?? bug;
    }
  }

  async #commit(pending: readonly PendingCommit[]): Promise<void> {
    const { session, runtime, onAnswered } = this.parts;
    const startedAt = runtime.monotonic();
    const commits = pending.map(({ commit }) => commit);
    try {
      await session.commit(commits);
    } catch (error) {
      onAnswered?.({ commits, tookMs: runtime.monotonic() - startedAt, error });
      throw error;
    }
    onAnswered?.({ commits, tookMs: runtime.monotonic() - startedAt });
  }

  /** An internal error must neither end the commits nor drop a lane, so all lanes are kept. */
  #keepRefused(error: Error, pending: readonly PendingCommit[]): Error | undefined {
    try {
      return this.#onRefused(error, pending);
    } catch (bug) {
      for (const { lane } of pending) {
        if (this.#isOver(lane)) continue;
        this.#changed.add(lane);
        this.#retry.add(lane);
      }
      return bug as Error;
    }
  }

  /**
   * Takes the commit points of all changed lanes. If one of them throws, the other lanes are
   * committed all the same.
   */
  #takeChanged(): { readonly pending: readonly PendingCommit[]; readonly bug: Error | undefined } {
    const pending: PendingCommit[] = [];
    let bug: Error | undefined;
    for (const lane of [...this.#changed]) {
      try {
        const commit = this.#isOver(lane) ? undefined : lane.commitPoint();
        this.#changed.delete(lane);
        if (commit) pending.push({ lane, commit });
        else this.#retry.remove(lane);
      } catch (error) {
        bug = error as Error;
        this.#retry.add(lane);
      }
    }
    return { pending, bug };
  }

  #confirm({ lane, commit }: PendingCommit): void {
    try {
      lane.confirm(commit);
    } catch (error) {
      this.parts.logger.error('A stored commit could not be confirmed', defectContext(error));
    }
    this.#retry.remove(lane);
  }

  /**
   * Keeps the lanes whose commit was not stored and whose partitions this member still owns. A
   * CommitError names the partitions that were not stored.
   */
  #onRefused(error: Error, pending: readonly PendingCommit[]): Error | undefined {
    const named = error instanceof CommitError ? error.partitions : pending.map(({ lane }) => lane);
    const names = new Set(named.map(({ topic, partition }) => partitionName(topic, partition)));
    const refused = pending.filter(
      ({ lane }) => names.has(lane.name) && !this.#isGone(error, lane),
    );
    for (const { lane } of refused) {
      this.#changed.add(lane);
      this.#retry.add(lane);
    }
    for (const each of pending) {
      if (!names.has(each.lane.name)) this.#confirm(each);
      else if (!refused.includes(each)) this.#retry.remove(each.lane);
    }
    return refused.length === 0 || this.#shortensMetadata(error, refused) ? undefined : error;
  }

  /**
   * Returns whether the partition belongs to another member. A FencedError may also name partitions
   * whose commit only has to be repeated, so the session must not own the partition either.
   */
  #isGone(error: Error, lane: CommitSource): boolean {
    if (this.#isOver(lane) || error instanceof ClosedError) return true;
    return error instanceof FencedError && this.parts.session.position(lane) === undefined;
  }

  /** Returns true if the commit can be repeated at once with shorter metadata. */
  #shortensMetadata(error: Error, refused: readonly PendingCommit[]): boolean {
    if (!(error instanceof OffsetMetadataTooLargeError)) return false;
    const lengths = refused.map(({ commit }) => commit.metadata?.length ?? 0);
    return this.parts.budget.shrink(Math.max(...lengths));
  }
}

/** A lane that throws is asked again with the next commit, which reports the error. */
function hasProgress(lane: CommitSource): boolean {
  try {
    return lane.commitPoint() !== undefined;
  } catch {
    return true;
  }
}
