import type { TimeSpan } from './committed-watch.js';
import type { MemberEvent } from './member-messages.js';

/**
 * A poll that takes longer is slow: on an idle machine, reading the offsets takes only a few
 * milliseconds.
 */
const SLOW_POLL_MS = 60;

const lengthOf = ({ from, to }: TimeSpan): number => to - from;

/**
 * Times at which the machine was too slow: the timer of a member fired late, or the broker answered
 * an unrelated request late.
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
