import { ExceptionRouting } from './exception-routing.js';

/** The destination of a failed record; `targetTier` is -1 unless the routing is SKIP_TO_TIER. */
export class ExceptionRoutingDecision {
  private constructor(
    readonly routing: ExceptionRouting,
    readonly targetTier: number,
  ) {
    Object.freeze(this);
  }

  static nextTier(): ExceptionRoutingDecision {
    return new ExceptionRoutingDecision(ExceptionRouting.NEXT_TIER, -1);
  }

  static skipToTier(tier: number): ExceptionRoutingDecision {
    if (!Number.isSafeInteger(tier) || tier < 1) {
      throw new RangeError(
        `A record can skip to tier 1 or a later one, not to ${tier}. Pass a whole number from 1 on.`,
      );
    }
    return new ExceptionRoutingDecision(ExceptionRouting.SKIP_TO_TIER, tier);
  }

  static deadLetter(): ExceptionRoutingDecision {
    return new ExceptionRoutingDecision(ExceptionRouting.DEAD_LETTER, -1);
  }

  static pauseContainer(): ExceptionRoutingDecision {
    return new ExceptionRoutingDecision(ExceptionRouting.PAUSE_CONTAINER, -1);
  }
}
