import { compileFilter, type DeadLetterFilter } from '../letters/dead-letter-filter.js';
import { belongsTo, type LetterOwner, type ReadLetter } from '../letters/read-letters.js';
import type { LetterStatus } from '../ledger/ledger-entry.js';
import type { SkipReason } from './redrive-plan.js';

export interface SelectionRules {
  readonly owner: LetterOwner;
  /** Undefined selects every letter of the owner. */
  readonly filter: DeadLetterFilter | undefined;
  readonly maxReplays: number;
}

/** `ignored`: the filter does not match, so the letter is not counted. */
export type SelectionVerdict = 'selected' | 'ignored' | Exclude<SkipReason, 'deleted'>;

/** Decides which letters a plan selects. The run of the plan decides by the same rules. */
export class LetterSelection {
  readonly #matches: (letter: ReadLetter) => boolean;

  constructor(private readonly rules: SelectionRules) {
    this.#matches = rules.filter === undefined ? () => true : compileFilter(rules.filter);
  }

  /** Decides by the letter's own headers, and by its status when the plan was made. */
  decide(letter: ReadLetter, statusAtPlan: LetterStatus): SelectionVerdict {
    if (!this.#matches(letter)) return 'ignored';
    if (!belongsTo(letter, this.rules.owner)) return 'other-binding';
    const resolved = skipReasonOf(statusAtPlan);
    if (resolved) return resolved;
    return letter.facts.replayCount >= this.rules.maxReplays ? 'max-replays' : 'selected';
  }
}

/** Returns why a letter with this status is not replayed; undefined if it is open. */
export function skipReasonOf(
  status: LetterStatus,
): 'already-replayed' | 'permanently-failed' | undefined {
  switch (status) {
    case 'open':
      return undefined;
    case 'replayed':
      return 'already-replayed';
    case 'permanently-failed':
      return 'permanently-failed';
  }
}
