import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { FaultRule } from '../faults/fault.js';

/** A decision about a failed record, and whether it came from the application. */
export interface Classification {
  readonly decision: ExceptionRoutingDecision;
  /**
   * True if the decision comes from the options, from a classifier of the application or from a
   * handler's result. No rule of the library overrides it.
   */
  readonly isExplicit: boolean;
}

/** The tier for failures that will last, if the binding has at least that many tiers. */
const EXTENDED_TIER = 2;

export const NEXT_TIER = byDefaultRule(ExceptionRoutingDecision.nextTier());
export const DEAD_LETTER = byDefaultRule(ExceptionRoutingDecision.deadLetter());
const EXTENDED = byDefaultRule(ExceptionRoutingDecision.skipToTier(EXTENDED_TIER));

/**
 * Decides where an error goes for which the application has no rule. `rule` is the first match in
 * `faults/rules`, which says what kind of error it is:
 * - A bad message goes to the dead-letter topic.
 * - A failure that will last, such as HTTP 503, skips to the second tier, where it waits longer.
 * - All other failures, such as ECONNRESET, go to the next tier. Unknown errors do so as well.
 */
export function defaultRouting(rule: FaultRule | undefined, tiers: number): Classification {
  if (rule?.fault === 'message') return DEAD_LETTER;
  return rule?.isExtended && tiers >= EXTENDED_TIER ? EXTENDED : NEXT_TIER;
}

function byDefaultRule(decision: ExceptionRoutingDecision): Classification {
  return Object.freeze({ decision, isExplicit: false });
}
