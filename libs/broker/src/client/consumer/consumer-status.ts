import type { SessionStatus } from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import type { Runtime } from '../../runtime/index.js';
import { Troubles } from './active-errors.js';

/**
 * One status out of two: what membership says and, while it says 'stable', what gives trouble in
 * fetching; while it says 'joining', what keeps it from becoming stable. 'failed' and 'closed' are final, but a failed session can still be closed.
 */
export class StatusBoard {
  readonly #listeners = new Set<(status: SessionStatus) => void>();
  readonly #troubles = new Troubles();
  readonly #hindrances = new Troubles();
  #base: SessionStatus = { state: 'idle' };
  #shown: SessionStatus = this.#base;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  get status(): SessionStatus {
    return this.#shown;
  }

  /** Membership's word alone: a member that cannot fetch has joined all the same. */
  get membership(): SessionStatus {
    return this.#base;
  }

  subscribe(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  set(status: SessionStatus): void {
    if (this.#base.state === 'closed') return;
    if (this.#base.state === 'failed' && status.state !== 'closed') return;
    this.#base = status;
    if (status.state === 'failed' || status.state === 'closed') this.#troubles.clear();
    this.#show();
  }

  trouble(source: object, error: Error): void {
    if (this.#troubles.add(source, error, this.runtime.now())) this.#show();
  }

  /** A member that is still joining cannot go on. */
  hindered(source: object, error: Error): void {
    if (this.#hindrances.add(source, error, this.runtime.now())) this.#show();
  }

  recovered(source: object): void {
    const removed = [this.#troubles, this.#hindrances].map((each) => each.remove(source));
    if (removed.includes(true)) this.#show();
  }

  /** Something went wrong once and is over: it is shown for a moment. */
  mention(error: Error): void {
    const source = {};
    this.trouble(source, error);
    this.recovered(source);
  }

  get #trouble(): Troubles['oldest'] {
    const { state } = this.#base;
    if (state === 'joining') return this.#hindrances.oldest;
    return state === 'stable' ? (this.#troubles.oldest ?? this.#hindrances.oldest) : undefined;
  }

  #show(): void {
    const trouble = this.#trouble;
    this.#shown = trouble ? { state: 'retrying', ...trouble } : this.#base;
    for (const listener of this.#listeners) {
      try {
        listener(this.#shown);
      } catch (error) {
        this.logger.error('A status listener threw', { error: (error as Error).message });
      }
    }
  }
}
