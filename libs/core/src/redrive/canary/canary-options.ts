import { durationComplaint, parseDuration, type Duration } from '../../config/reading/duration.js';
import type { CanaryEntry } from '../ledger/ledger-entry.js';
import { refused } from '../letters/filter-conditions.js';

/** When the rest of an operation follows its canary. */
export type CanaryContinuation = 'automatically' | 'on-approval';

export interface CanaryOptions {
  /** The number of letters that are replayed first. They are spread over the partitions. */
  readonly letters: number;
  /** Default `'automatically'`: as soon as all of them were handled. */
  readonly continue?: CanaryContinuation;
  /**
   * The verdict is bad if a letter is still undecided after this time. Default: the operation waits
   * until all are decided.
   */
  readonly undecidedFor?: Duration;
}

/** Returns the canary as the ledger stores it. Throws if the options are not valid. */
export function canaryOf(given: number | CanaryOptions): Omit<CanaryEntry, 'kind' | 'by' | 'at'> {
  const options = typeof given === 'number' ? { letters: given } : given;
  if (typeof options !== 'object' || options === null)
    throw refused('canary', 'must be a number of letters, or an object with letters');
  const unknown = Object.keys(options).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw refused('canary', `has no '${unknown.slice(0, 100)}'`);
  const { letters, continue: continues = 'automatically', undecidedFor } = options;
  if (!(Number.isSafeInteger(letters) && letters > 0))
    throw refused('canary', 'must have a whole number of letters above 0');
  if (!CONTINUATIONS.includes(continues))
    throw refused('canary.continue', "must be 'automatically' or 'on-approval'");
  if (undecidedFor === undefined) return { letters, continue: continues };
  const complaint = durationComplaint(undecidedFor);
  if (complaint !== undefined) throw refused('canary.undecidedFor', `is no duration. ${complaint}`);
  return { letters, continue: continues, undecidedForMs: parseDuration(undecidedFor) };
}

const KEYS = ['letters', 'continue', 'undecidedFor'];
const CONTINUATIONS: readonly unknown[] = ['automatically', 'on-approval'];
