import {
  ClosedError,
  CommitError,
  FencedError,
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
  within,
} from '@nest-event-bus/broker/runtime';
import { nameOf } from './partition-name.js';

/** Something whose progress is committed. */
export interface CommitSource extends TopicPartition {
  readonly name: string;
  /** undefined when nothing is new. */
  commitPoint(): OffsetCommit | undefined;
  confirm(offset: number): void;
}

export interface CommitterParts {
  readonly session: Pick<ConsumerSession, 'commit' | 'position'>;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** What keeps progress from being committed; undefined when that is over. */
  onTrouble(error: Error | undefined): void;
}

interface Sent {
  readonly source: CommitSource;
  readonly offset: OffsetCommit;
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
  readonly #backoff: Backoff;
  #isDriving = false;
  #isFailing = false;
  #isClosed = false;
  #idle: Deferred | undefined;
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

  /** Nothing of it is committed any more: its assignment has ended. */
  forget(source: CommitSource): void {
    this.#pending.delete(source);
    this.#underWay.delete(source);
  }

  /** Whether all that was requested was settled in time. What was not stays pending. */
  async flush(timeoutMs: number): Promise<boolean> {
    if (!this.#isDriving) return true;
    this.#idle ??= new Deferred();
    this.#wake();
    const late = (): Error => new Error('late');
    return within(this.parts.runtime, timeoutMs, this.#idle.promise, late).then(
      () => true,
      () => false,
    );
  }

  /** No further try. */
  close(): void {
    this.#isClosed = true;
    this.#pending.clear();
    this.#wake();
  }

  async #drive(): Promise<void> {
    this.#isDriving = true;
    while (this.#pending.size > 0) {
      const sent = this.#take();
      if (sent.length === 0) continue;
      try {
        await this.parts.session.commit(sent.map(({ offset }) => offset));
        this.#stored(sent);
      } catch (error) {
        await this.#meet(error as Error, sent);
      }
    }
    this.#isDriving = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #take(): readonly Sent[] {
    const sent: Sent[] = [];
    for (const source of this.#pending) {
      const offset = source.commitPoint();
      if (offset) sent.push({ source, offset });
    }
    this.#pending.clear();
    this.#underWay.clear();
    for (const { source } of sent) this.#underWay.add(source);
    return sent;
  }

  #stored(sent: readonly Sent[]): void {
    for (const { source, offset } of sent) source.confirm(offset.offset);
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#backoff.reset();
    this.parts.onTrouble(undefined);
  }

  /** Partitions that the error does not name were stored. */
  async #meet(error: Error, sent: readonly Sent[]): Promise<void> {
    const named =
      error instanceof CommitError
        ? new Set(error.partitions.map(({ topic, partition }) => nameOf(topic, partition)))
        : undefined;
    for (const { source, offset } of sent)
      if (named && !named.has(source.name)) source.confirm(offset.offset);
    const refused = sent.filter(({ source }) => !named || named.has(source.name));
    const retried = refused.filter(({ source }) => !this.#isGone(error, source));
    this.#drop(refused.length - retried.length, error);
    if (retried.length === 0) return;
    for (const { source } of retried) this.#pending.add(source);
    this.#isFailing = true;
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

  #drop(count: number, error: Error): void {
    if (count === 0) return;
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
