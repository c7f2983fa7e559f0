/** How the letters of a canary ended so far. */
export interface CanaryFigures {
  /** Letters that were handled, or that their binding does not want. */
  readonly good: number;
  /** Letters that failed again, or that the target topic refused. */
  readonly bad: number;
  readonly undecided: number;
}

export type CanaryVerdict = 'good' | 'bad' | 'undecided';

export type VerdictReason =
  | 'failed-again'
  /** A letter had no outcome after `undecidedFor`. */
  | 'undecided-for-too-long';

export interface DecidedVerdict {
  readonly verdict: 'good' | 'bad';
  /** Why it is bad. */
  readonly reason?: VerdictReason;
}

/**
 * Decides about a canary; undefined while it is undecided. One bad letter decides at once. A good
 * verdict needs the outcome of every letter.
 */
export function verdictOf(
  { good, bad, undecided }: CanaryFigures,
  { undecidedForMs }: { readonly undecidedForMs?: number },
  waitedMs: number,
): DecidedVerdict | undefined {
  if (bad > 0) return { verdict: 'bad', reason: 'failed-again' };
  if (undecided === 0 && good > 0) return { verdict: 'good' };
  const isOverdue = undecidedForMs !== undefined && waitedMs >= undecidedForMs;
  return isOverdue ? { verdict: 'bad', reason: 'undecided-for-too-long' } : undefined;
}
