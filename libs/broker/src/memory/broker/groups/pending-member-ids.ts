import type { Runtime, Timer } from '../../../runtime/index.js';

/** Ids that were given out and not joined with yet: the group waits for them too, for a session. */
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

  /** Whether the id was promised; from now on it is not. */
  claim(memberId: string): boolean {
    this.#timers.get(memberId)?.cancel();
    return this.#timers.delete(memberId);
  }
}
