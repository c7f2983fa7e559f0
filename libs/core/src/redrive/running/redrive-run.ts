import { Deferred } from '@nest-event-bus/broker/runtime';
import type { RedriveReport } from './redrive-report.js';

/** The work of a run: calls back with each change, and resolves with the last report. */
export type RedriveWork = (
  signal: AbortSignal,
  onProgress: (report: RedriveReport) => void,
) => Promise<RedriveReport>;

/**
 * A running operation. It can be awaited for its report, and iterated for its progress. An
 * iteration that is slower than the run sees the latest figures and misses earlier ones.
 */
export class RedriveRun implements PromiseLike<RedriveReport>, AsyncIterable<RedriveReport> {
  readonly #stopping = new AbortController();
  readonly #finished: Promise<RedriveReport>;
  #latest: RedriveReport | undefined;
  #changed = new Deferred();

  constructor(work: RedriveWork, signal?: AbortSignal) {
    const stopping = signal
      ? AbortSignal.any([signal, this.#stopping.signal])
      : this.#stopping.signal;
    this.#finished = work(stopping, (report) => this.#report(report));
    // The error belongs to whoever awaits the run, which may be later.
    this.#finished.then(
      (report) => this.#report(report),
      () => this.#changed.resolve(),
    );
  }

  /**
   * Stops the run in this process after the batch in flight. Other nodes go on, and `run` resumes
   * it.
   */
  stop(): void {
    this.#stopping.abort(new Error('The redrive was stopped in this process.'));
  }

  // The design makes a run awaitable, so that `await replay.run(...)` returns the report.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Result = RedriveReport, Failure = never>(
    onReport?: ((report: RedriveReport) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#finished.then(onReport, onError);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RedriveReport, void> {
    const finished = this.#finished.then(
      () => true,
      () => true,
    );
    let shown: RedriveReport | undefined;
    let isFinished = false;
    while (!isFinished) {
      if (this.#latest && this.#latest !== shown) yield (shown = this.#latest);
      else isFinished = await Promise.race([this.#changed.promise.then(() => false), finished]);
    }
    const last = await this.#finished;
    if (last !== shown) yield last;
  }

  #report(report: RedriveReport): void {
    this.#latest = report;
    const changed = this.#changed;
    this.#changed = new Deferred();
    changed.resolve();
  }
}
