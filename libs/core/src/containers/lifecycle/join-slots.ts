import { ClosedError } from '@nest-event-bus/broker';
import { Deferred, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ConsumingSession } from '../../consuming/session/consuming-session.js';

/**
 * Time after which a session gives up its slot. From then on it only waits for the broker, which
 * costs little. Measured: a stock broker delays every new group by 3 s, so 200 sessions that joined
 * 16 at a time needed 40 s. Raw clients, all at once, needed 4 s.
 */
const SLOT_TIMEOUT_MS = 100;

type Joining = Pick<ConsumingSession, 'start' | 'status' | 'onStatusChange'>;

/**
 * Limits how many sessions begin to join at the same time. Hundreds at once would overload the
 * group coordinator, and all of them would time out.
 */
export class JoinSlots {
  readonly #queue = new Set<Deferred>();
  #taken = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly concurrency: () => number,
  ) {}

  /**
   * Settles as the session's `start` does. Rejects with ClosedError if `signal` aborts before its
   * turn. A session that has to wait for its broker or topic frees its slot.
   */
  async join(session: Joining, signal: AbortSignal): Promise<void> {
    await this.#enter(signal);
    const release = once(() => this.#leave());
    const timer = this.runtime.setTimer(release, SLOT_TIMEOUT_MS, { background: true });
    const unsubscribe = session.onStatusChange(() => {
      if (session.status.state === 'retrying') release();
    });
    try {
      if (signal.aborted) throw closedBeforeJoin();
      await session.start();
    } finally {
      timer.cancel();
      unsubscribe();
      release();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw closedBeforeJoin();
    if (this.#taken < this.concurrency()) {
      this.#taken += 1;
      return;
    }
    const turn = new Deferred();
    const giveUp = (): void => {
      if (this.#queue.delete(turn)) turn.reject(closedBeforeJoin());
    };
    this.#queue.add(turn);
    signal.addEventListener('abort', giveUp, { once: true });
    await turn.promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  #leave(): void {
    const [next] = this.#queue;
    if (!next) {
      this.#taken -= 1;
      return;
    }
    this.#queue.delete(next);
    next.resolve();
  }
}

function closedBeforeJoin(): ClosedError {
  return new ClosedError('The container was closed before this session began to join its group.');
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}
