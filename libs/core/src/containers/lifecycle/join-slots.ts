import { ClosedError } from '@nest-event-bus/broker';
import { Deferred, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ConsumingSession } from '../../consuming/session/consuming-session.js';

/**
 * A session that takes longer goes on by itself: then it waits for the broker, which costs nobody
 * anything. A stock broker keeps every new group waiting for 3 s, and 200 sessions that came 16 at
 * a time needed 40 s to join; raw clients, all at once, needed 4.
 */
const SLOT_TIMEOUT_MS = 100;

type Joining = Pick<ConsumingSession, 'start' | 'onStatus'>;

/**
 * Lets a bounded number of sessions begin to join at the same time, first come, first served. Hundreds at
 * once would bury the group coordinator, and all of them would run into their time-outs.
 */
export class JoinSlots {
  readonly #queue = new Set<Deferred>();
  #taken = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly concurrency: () => number,
  ) {}

  /**
   * Settles with what the session's `start` settles with; rejects with ClosedError when `signal`
   * aborts before its turn. One that has to wait for its broker or topic gives its place away.
   */
  async join(session: Joining, signal: AbortSignal): Promise<void> {
    await this.#enter(signal);
    const release = once(() => this.#leave());
    const timer = this.runtime.setTimer(release, SLOT_TIMEOUT_MS, { background: true });
    const unsubscribe = session.onStatus(({ state }) => {
      if (state === 'retrying') release();
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
