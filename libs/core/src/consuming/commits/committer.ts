import {
  ClosedError,
  CommitError,
  FencedError,
  OffsetMetadataTooLargeError,
  type ConsumerSession,
  type DriverLogger,
  type OffsetCommit,
  type TopicPartition,
} from '@nest-event-bus/broker';
import {
  Backoff,
  Deferred,
  type Runtime,
  type Timer,
  resolvesWithin,
} from '@nest-event-bus/broker/runtime';
import type { MetadataBudget } from './metadata-budget.js';
import { partitionName } from '../lanes/partition-name.js';

/** Something whose progress is committed. */
export interface CommitSource extends TopicPartition {
  readonly name: string;
  /** undefined when nothing is new. */
  commitPoint(): OffsetCommit | undefined;
  confirm(commit: OffsetCommit): void;
}

export interface CommitterParts {
  readonly session: Pick<ConsumerSession, 'commit' | 'position'>;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly budget: MetadataBudget;
  /** What keeps progress from being committed; undefined when that is over. */
  onTrouble(error: Error | undefined): void;
}

interface Sent {
  readonly source: CommitSource;
  readonly offset: OffsetCommit;
  /** Who waits for it. */
  readonly stored: Deferred | undefined;
}

const RETRY = { initialMs: 100, maxMs: 5_000 };
/** For what trying again can hardly mend, such as a refused authorisation. */
const RARELY_MS = 30_000;

/**
 * Commits, one request at a time: what is done meanwhile joins the next one, so that handlers never
 * wait for the broker. A commit that fails stays pending until it is stored or the partition is
 * somebody else's.
 */
export class Committer {
  readonly #pending = new Set<CommitSource>();
  readonly #underWay = new Set<CommitSource>();
  /** Of sources that are pending. */
  readonly #awaited = new Map<CommitSource, Deferred>();
  /** Refused at their last try. */
  readonly #refused = new Set<CommitSource>();
  readonly #backoff: Backoff;
  #isDriving = false;
  #isInTrouble = false;
  #isClosed = false;
  #nap: { readonly timer: Timer; readonly over: Deferred } | undefined;
  #fenced = 0;

  constructor(private readonly parts: CommitterParts) {
    this.#backoff = new Backoff(parts.runtime, RETRY);
  }

  /** How many commits were not stored because the partition was somebody else's by then. */
  get fenced(): number {
    return this.#fenced;
  }

  /** It has progress to commit, now or with the commit after the one that is under way. */
  request(source: CommitSource): void {
    if (this.#isClosed) return;
    this.#pending.add(source);
    if (!this.#isDriving) void this.#drive();
  }

  /** Resolves when what is done by now is stored; or never will be, because the assignment has ended. */
  whenStored(source: CommitSource): Promise<void> {
    if (this.#isClosed || !source.commitPoint()) return Promise.resolve();
    const stored = this.#awaited.get(source) ?? new Deferred();
    this.#awaited.set(source, stored);
    this.request(source);
    return stored.promise;
  }

  /** Nothing of it is committed any more: its assignment has ended. */
  forget(source: CommitSource): void {
    this.#pending.delete(source);
    this.#underWay.delete(source);
    this.#takeAwaited(source)?.resolve();
    this.#noLongerRefused([source]);
  }

  /**
   * Whether what is done of these by now was settled in time; what was not stays pending. Others may
   * have more to commit all the time: nobody waits for them.
   */
  async flush(sources: readonly CommitSource[], timeoutMs: number): Promise<boolean> {
    const stored = Promise.all(sources.map(async (source) => this.whenStored(source)));
    this.#wake();
    return resolvesWithin(this.parts.runtime, timeoutMs, stored);
  }

  /** No further try. */
  close(): void {
    this.#isClosed = true;
    this.#pending.clear();
    for (const source of [...this.#awaited.keys()]) this.#takeAwaited(source)?.resolve();
    this.#wake();
  }

  async #drive(): Promise<void> {
    this.#isDriving = true;
    while (this.#pending.size > 0) {
      try {
        await this.#commitPending();
      } catch (error) {
        await this.#onBroken(error as Error);
      }
    }
    this.#isDriving = false;
  }

  async #commitPending(): Promise<void> {
    const { sent, mistake } = this.#take();
    if (sent.length > 0) await this.#send(sent);
    if (mistake) await this.#onBroken(mistake);
  }

  async #send(sent: readonly Sent[]): Promise<void> {
    try {
      await this.parts.session.commit(sent.map(({ offset }) => offset));
    } catch (error) {
      return this.#meet(error as Error, sent);
    }
    this.#confirm(sent);
  }

  /** A mistake of our own must not end the committing silently: it is told, and what is pending is tried again. */
  async #onBroken(error: Error): Promise<void> {
    this.parts.logger.error('A commit broke and is tried again', { reason: error.message });
    this.#isInTrouble = true;
    this.parts.onTrouble(error);
    await this.#rest(error);
  }

  /** A source that cannot tell how far it is stays pending, and keeps nobody else from committing. */
  #take(): { readonly sent: readonly Sent[]; readonly mistake: Error | undefined } {
    const sent: Sent[] = [];
    let mistake: Error | undefined;
    this.#underWay.clear();
    for (const source of [...this.#pending]) {
      try {
        const offset = source.commitPoint();
        const stored = this.#takeAwaited(source);
        this.#pending.delete(source);
        if (offset) sent.push({ source, offset, stored });
        else stored?.resolve();
      } catch (error) {
        mistake = error as Error;
        this.#refused.add(source);
      }
    }
    for (const { source } of sent) this.#underWay.add(source);
    this.#noLongerRefused([...this.#refused].filter((source) => this.#hasNothingLeft(source)));
    return { sent, mistake };
  }

  #hasNothingLeft(source: CommitSource): boolean {
    return !this.#underWay.has(source) && !this.#pending.has(source);
  }

  #confirm(sent: readonly Sent[]): void {
    for (const { source, offset, stored } of sent) {
      try {
        source.confirm(offset);
      } catch (error) {
        const reason = (error as Error).message;
        this.parts.logger.error('A commit was stored and could not be taken note of', { reason });
      }
      stored?.resolve();
    }
    this.#noLongerRefused(sent.map(({ source }) => source));
  }

  /** They are stored, or not ours to commit. When nothing is refused any more, nothing is to be waited for. */
  #noLongerRefused(sources: readonly CommitSource[]): void {
    for (const source of sources) this.#refused.delete(source);
    if (!this.#isInTrouble || this.#refused.size > 0) return;
    this.#isInTrouble = false;
    this.#backoff.reset();
    this.parts.onTrouble(undefined);
    this.#wake();
  }

  /** Partitions that the error does not name were stored. */
  async #meet(error: Error, sent: readonly Sent[]): Promise<void> {
    const named =
      error instanceof CommitError
        ? new Set(error.partitions.map(({ topic, partition }) => partitionName(topic, partition)))
        : undefined;
    const refused = sent.filter(({ source }) => !named || named.has(source.name));
    const gone = refused.filter(({ source }) => this.#isGone(error, source));
    const retried = refused.filter((each) => !gone.includes(each));
    for (const each of retried) this.#askAgain(each);
    this.#drop(gone, error);
    this.#confirm(sent.filter((each) => !refused.includes(each)));
    if (retried.length === 0 || this.#hasShortened(error, retried)) return;
    this.#isInTrouble = true;
    this.parts.onTrouble(error);
    await this.#rest(error);
  }

  /**
   * A fence is believed when the session does not own the partition either: one error may name
   * partitions that are gone and some that only have to be tried again.
   */
  #isGone(error: Error, source: CommitSource): boolean {
    if (this.#isClosed || error instanceof ClosedError) return true;
    // Its assignment has ended meanwhile; the partition may be ours again, in another one.
    if (!this.#underWay.has(source)) return true;
    return error instanceof FencedError && this.parts.session.position(source) === undefined;
  }

  #askAgain({ source, stored }: Sent): void {
    this.#pending.add(source);
    this.#refused.add(source);
    if (!stored) return;
    const later = this.#awaited.get(source);
    if (later) void later.promise.then(() => stored.resolve());
    else this.#awaited.set(source, stored);
  }

  /** The next try has less metadata, and need not wait. */
  #hasShortened(error: Error, refused: readonly Sent[]): boolean {
    if (!(error instanceof OffsetMetadataTooLargeError)) return false;
    const lengths = refused.map(({ offset }) => offset.metadata?.length ?? 0);
    return this.parts.budget.shrink(Math.max(...lengths));
  }

  #takeAwaited(source: CommitSource): Deferred | undefined {
    const stored = this.#awaited.get(source);
    this.#awaited.delete(source);
    return stored;
  }

  #drop(gone: readonly Sent[], error: Error): void {
    const count = gone.length;
    if (count === 0) return;
    for (const { stored } of gone) stored?.resolve();
    this.#noLongerRefused(gone.map(({ source }) => source));
    this.#fenced += count;
    this.parts.logger.debug(
      'What was done of partitions that are no longer ours stays uncommitted',
      {
        partitions: count,
        reason: error.message,
      },
    );
  }

  async #rest(error: Error): Promise<void> {
    const isHopeless = 'retriable' in error && error.retriable === false;
    const isFence = error instanceof FencedError;
    const delayMs = isHopeless && !isFence ? RARELY_MS : this.#backoff.next();
    if (isHopeless && !isFence)
      this.parts.logger.error('What is done cannot be committed', { reason: error.message });
    const over = new Deferred();
    const timer = this.parts.runtime.setTimer(() => over.resolve(), delayMs);
    this.#nap = { timer, over };
    await over.promise;
    this.#nap = undefined;
  }

  /** Somebody waits: the next try is now. */
  #wake(): void {
    this.#nap?.timer.cancel();
    this.#nap?.over.resolve();
  }
}
