import type { TimeSpan } from './committed-watch.js';
import type { MemberEvent } from './member-messages.js';

/** Reading the offsets takes only a few milliseconds on an idle machine. */
const SLOW_POLL_MS = 60;

const lengthOf = ({ from, to }: TimeSpan): number => to - from;

/**
 * Times when the machine was too slow: a member's timer was late, or the broker answered an unrelated
 * request late.
 */
export class MachineDelays {
  readonly #timeSpans: readonly TimeSpan[];

  constructor(polls: readonly TimeSpan[], events: readonly MemberEvent[]) {
    const starved = events.flatMap((event) =>
      event.kind === 'starved' ? { from: event.at - event.milliseconds, to: event.at } : [],
    );
    this.#timeSpans = [...starved, ...polls.filter((poll) => lengthOf(poll) > SLOW_POLL_MS)];
  }

  get longestMs(): number {
    return Math.max(0, ...this.#timeSpans.map(lengthOf));
  }

  during({ from, to }: TimeSpan): boolean {
    return this.#timeSpans.some((stretch) => stretch.from <= to && stretch.to >= from);
  }
}
