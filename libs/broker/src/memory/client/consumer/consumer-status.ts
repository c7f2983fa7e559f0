import type { SessionStatus } from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import { errorReasonOf } from '../../../port/error-text.js';
import type { Runtime } from '../../../runtime/index.js';

type Source = 'group' | 'fetching' | 'topics';

/** The status of a session: the state of its membership, or the current error. */
export class ConsumerStatus {
  readonly #listeners = new Set<(status: SessionStatus) => void>();
  readonly #errors = new Map<Source, { readonly since: number; readonly error: Error }>();
  #membership: SessionStatus = { state: 'idle' };
  #shown: SessionStatus = this.#membership;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger | undefined,
  ) {}

  get status(): SessionStatus {
    return this.#shown;
  }

  subscribe(listener: (status: SessionStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  joining(): void {
    if (this.#membership.state !== 'joining')
      this.#set({ state: 'joining', since: this.runtime.now() });
  }

  stable(generation: number): void {
    this.#set({ state: 'stable', since: this.runtime.now(), generation });
  }

  failed(error: Error): void {
    this.#errors.clear();
    this.#set({ state: 'failed', since: this.runtime.now(), error });
  }

  closed(): void {
    this.#errors.clear();
    this.#set({ state: 'closed' });
  }

  retrying(source: Source, error: Error): void {
    const known = this.#errors.get(source);
    if (known?.error.message === error.message) return;
    this.#errors.set(source, { since: known?.since ?? this.runtime.now(), error });
    this.#update();
  }

  recovered(source: Source): void {
    if (this.#errors.delete(source)) this.#update();
  }

  /**
   * Reports an error that is already over: listeners get the error, and then the unchanged status.
   */
  report(error: Error): void {
    if (this.#isFinal()) return;
    this.#notify({ state: 'retrying', since: this.runtime.now(), error });
    this.#notify(this.#shown);
  }

  #set(status: SessionStatus): void {
    if (this.#membership.state === 'closed') return;
    if (this.#membership.state === 'failed' && status.state !== 'closed') return;
    this.#membership = status;
    this.#update();
  }

  #update(): void {
    const [current] = this.#errors.values();
    const shown: SessionStatus =
      current && !this.#isFinal() ? { state: 'retrying', ...current } : this.#membership;
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#notify(shown);
  }

  #isFinal(): boolean {
    return this.#membership.state === 'failed' || this.#membership.state === 'closed';
  }

  #notify(status: SessionStatus): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(status);
      } catch (error) {
        this.logger?.error('A status listener threw', { error: errorReasonOf(error) });
      }
    }
  }
}
