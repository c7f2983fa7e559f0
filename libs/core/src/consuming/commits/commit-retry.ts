import { type DriverLogger, errorReasonOf, FencedError } from '@nest-event-bus/broker';
import { Backoff, type Runtime, sleep } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { CommitSource } from './committer.js';

export interface CommitRetryParts {
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Reports why progress cannot be committed, and undefined when commits succeed again. */
  onError(error: Error | undefined): void;
}

const BACKOFF = { initialMs: 100, maxMs: 5_000 };
/** Delay after an error that only an operator can repair, such as a missing permission. */
const OPERATOR_RETRY_MS = 30_000;

/**
 * Remembers lanes whose last commit was not stored, and delays the next commit while there are such
 * lanes.
 */
export class CommitRetry {
  readonly #refused = new Set<CommitSource>();
  readonly #backoff: Backoff;
  #delay = new AbortController();
  #error: Error | undefined;

  constructor(private readonly parts: CommitRetryParts) {
    this.#backoff = new Backoff(parts.runtime, BACKOFF);
  }

  has(lane: CommitSource): boolean {
    return this.#refused.has(lane);
  }

  add(lane: CommitSource): void {
    this.#refused.add(lane);
  }

  /**
   * Removes a lane. With the last refused lane the error ends, so that commits of other lanes need
   * not wait for the retry.
   */
  remove(lane: CommitSource): void {
    this.#refused.delete(lane);
    if (!this.#error || this.#refused.size > 0) return;
    this.#error = undefined;
    this.#backoff.reset();
    this.#notify(undefined);
    this.endDelay();
  }

  /** Reports the error, and waits until the commit should be repeated. */
  async delay(error: Error & { readonly retriable?: boolean }): Promise<void> {
    const { runtime, logger } = this.parts;
    const isFence = error instanceof FencedError;
    const needsOperator = error.retriable === false && !isFence;
    if (error.retriable !== true && !isFence)
      logger.error('Offsets could not be committed; the commit is repeated', {
        reason: errorReasonOf(error),
      });
    this.#error = error;
    this.#notify(error);
    this.#delay = new AbortController();
    const delayMs = needsOperator ? OPERATOR_RETRY_MS : this.#backoff.next();
    await sleep(runtime, delayMs, this.#delay.signal).catch(() => undefined);
  }

  /** Ends the wait, so that the commit is repeated at once. */
  endDelay(): void {
    this.#delay.abort();
  }

  /** A listener that throws must not end the commits. */
  #notify(error: Error | undefined): void {
    try {
      this.parts.onError(error);
    } catch (thrown) {
      this.parts.logger.error('A listener of commit errors failed', defectContext(thrown));
    }
  }
}
