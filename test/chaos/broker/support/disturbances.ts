import type { Stretch } from './committed-watch.js';
import type { MemberEvent } from './member-messages.js';

/** A look at the offsets takes a few milliseconds where nobody is short of the processor. */
const SLOW_LOOK_MS = 60;

const lengthOf = ({ from, to }: Stretch): number => to - from;

/**
 * When the machine kept somebody waiting: a member's timer that came late, or the broker's answer
 * to a question from outside that has nothing to do with the group's rebalance.
 */
export class Disturbances {
  readonly #stretches: readonly Stretch[];

  constructor(looks: readonly Stretch[], events: readonly MemberEvent[]) {
    const starved = events.flatMap((event) =>
      event.kind === 'starved' ? { from: event.at - event.milliseconds, to: event.at } : [],
    );
    this.#stretches = [...starved, ...looks.filter((look) => lengthOf(look) > SLOW_LOOK_MS)];
  }

  get longestMs(): number {
    return Math.max(0, ...this.#stretches.map(lengthOf));
  }

  during({ from, to }: Stretch): boolean {
    return this.#stretches.some((stretch) => stretch.from <= to && stretch.to >= from);
  }
}
