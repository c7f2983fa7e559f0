import type { Runtime, Timer } from '../../../runtime/index.js';

/**
 * Member ids that were issued and have not joined yet. The group waits for them up to one session
 * timeout.
 */
export class PendingMemberIds {
  readonly #timers = new Map<string, Timer>();

  constructor(
    private readonly runtime: Runtime,
    private readonly onForgotten: () => void,
  ) {}

  get isEmpty(): boolean {
    return this.#timers.size === 0;
  }

  issue(clientId: string, sessionTimeoutMs: number): string {
    const memberId = `${clientId}-${this.runtime.uuid()}`;
    const forget = (): void => {
      this.#timers.delete(memberId);
      this.onForgotten();
    };
    this.#timers.set(
      memberId,
      this.runtime.setTimer(forget, sessionTimeoutMs, { background: true }),
    );
    return memberId;
  }

  /** Removes an id from the pending ones; returns whether it was pending. */
  claim(memberId: string): boolean {
    this.#timers.get(memberId)?.cancel();
    return this.#timers.delete(memberId);
  }
}
