import type { SessionStatus } from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import type { Runtime } from '../../runtime/index.js';
import { ActiveErrors } from './active-errors.js';

/**
 * One status out of two: what membership says and, while it says 'stable', what gives trouble in
 * fetching; while it says 'joining', what keeps it from becoming stable. 'failed' and 'closed' are final, but a failed session can still be closed.
 */
export class ConsumerStatus {
  readonly #listeners = new Set<(status: SessionStatus) => void>();
  readonly #fetchErrors = new ActiveErrors();
  readonly #joinErrors = new ActiveErrors();
  #membership: SessionStatus = { state: 'idle' };
  #current: SessionStatus = this.#membership;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  get status(): SessionStatus {
    return this.#current;
  }

  /** Membership's word alone: a member that cannot fetch has joined all the same. */
  get membership(): SessionStatus {
    return this.#membership;
  }

  subscribe(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setMembership(status: SessionStatus): void {
    if (this.#membership.state === 'closed') return;
    if (this.#membership.state === 'failed' && status.state !== 'closed') return;
    this.#membership = status;
    if (status.state === 'failed' || status.state === 'closed') this.#fetchErrors.clear();
    this.#publish();
  }

  reportFetchError(source: object, error: Error): void {
    if (this.#fetchErrors.add(source, error, this.runtime.now())) this.#publish();
  }

  /** A member that is still joining cannot go on. */
  reportJoinError(source: object, error: Error): void {
    if (this.#joinErrors.add(source, error, this.runtime.now())) this.#publish();
  }

  clearErrors(source: object): void {
    const removed = [this.#fetchErrors, this.#joinErrors].map((each) => each.remove(source));
    if (removed.includes(true)) this.#publish();
  }

  /** Something went wrong once and is over: it is shown for a moment. */
  reportBriefly(error: Error): void {
    const source = {};
    this.reportFetchError(source, error);
    this.clearErrors(source);
  }

  get #oldestError(): ActiveErrors['oldest'] {
    const { state } = this.#membership;
    if (state === 'joining') return this.#joinErrors.oldest;
    return state === 'stable' ? (this.#fetchErrors.oldest ?? this.#joinErrors.oldest) : undefined;
  }

  #publish(): void {
    const active = this.#oldestError;
    this.#current = active ? { state: 'retrying', ...active } : this.#membership;
    for (const listener of this.#listeners) {
      try {
        listener(this.#current);
      } catch (error) {
        this.logger.error('A status listener threw', { error: (error as Error).message });
      }
    }
  }
}
