import type { SessionStatus } from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import { errorReasonOf } from '../../port/error-text.js';
import type { Runtime } from '../../runtime/index.js';
import { ActiveErrors } from './active-errors.js';

/**
 * Combines the status of the membership and the errors of this session into one status. While the
 * member is stable, fetch errors turn the status into `retrying`. While it joins, errors that delay
 * the join do. `failed` and `closed` are final, but a failed session can still be closed.
 */
export class ConsumerStatus {
  readonly #listeners = new Set<(status: SessionStatus) => void>();
  readonly #fetchErrors = new ActiveErrors();
  readonly #joinErrors = new ActiveErrors();
  /** The status of the membership alone. A member is stable in it even if its fetches fail. */
  membership: SessionStatus = { state: 'idle' };
  status: SessionStatus = this.membership;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  subscribe(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setMembership(status: SessionStatus): void {
    if (this.membership.state === 'closed') return;
    if (this.membership.state === 'failed' && status.state !== 'closed') return;
    this.membership = status;
    if (status.state === 'failed' || status.state === 'closed') this.#fetchErrors.clear();
    this.#publish();
  }

  reportFetchError(source: object, error: Error): void {
    if (this.#fetchErrors.add(source, error, this.runtime.now())) this.#publish();
  }

  /** Reports an error that delays the join. */
  reportJoinError(source: object, error: Error): void {
    if (this.#joinErrors.add(source, error, this.runtime.now())) this.#publish();
  }

  clearErrors(source: object): void {
    const removed = [this.#fetchErrors, this.#joinErrors].map((each) => each.remove(source));
    if (removed.includes(true)) this.#publish();
  }

  /** Reports an error that is already over: the status is `retrying` for one notification. */
  reportBriefly(error: Error): void {
    const source = {};
    this.reportFetchError(source, error);
    this.clearErrors(source);
  }

  get #oldestError(): ActiveErrors['oldest'] {
    const { state } = this.membership;
    if (state === 'joining') return this.#joinErrors.oldest;
    return state === 'stable' ? (this.#fetchErrors.oldest ?? this.#joinErrors.oldest) : undefined;
  }

  #publish(): void {
    const active = this.#oldestError;
    this.status = active ? { state: 'retrying', ...active } : this.membership;
    for (const listener of this.#listeners) {
      try {
        listener(this.status);
      } catch (error) {
        this.logger.error('A status listener threw', { error: errorReasonOf(error) });
      }
    }
  }
}
