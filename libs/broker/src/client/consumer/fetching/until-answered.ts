import { Backoff, sleep, type Runtime } from '../../../runtime/index.js';
import type { StatusBoard } from '../consumer-status.js';

interface Question {
  readonly runtime: Runtime;
  readonly board: StatusBoard;
  /** In whose name trouble stands on the board. */
  readonly source: object;
  readonly signal: AbortSignal;
}

const BACKOFF = { initialMs: 100, maxMs: 5_000 };

/** Asks until there is an answer; undefined when the signal aborts before. */
export async function untilAnswered<T>(
  { runtime, board, source, signal }: Question,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const backoff = new Backoff(runtime, BACKOFF);
  while (!signal.aborted) {
    try {
      const answer = await ask(signal);
      board.recovered(source);
      return answer;
    } catch (error) {
      if (signal.aborted) return undefined;
      board.trouble(source, error as Error);
      const rested = await sleep(runtime, backoff.next(), signal).then(
        () => true,
        () => false,
      );
      // Without a pause it would spin: the trouble stays on the board instead.
      if (!rested) return undefined;
    }
  }
  return undefined;
}
