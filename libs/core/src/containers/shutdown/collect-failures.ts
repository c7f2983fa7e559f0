import { asError } from '../../errors/as-error.js';

/**
 * Runs all attempts, whatever fails, and returns the errors. An AggregateError counts as its
 * errors.
 */
export async function failuresOf(attempts: readonly (() => unknown)[]): Promise<readonly Error[]> {
  const settled = await Promise.allSettled(attempts.map(async (attempt) => attempt()));
  return settled.flatMap((result) => (result.status === 'rejected' ? flatten(result.reason) : []));
}

export function throwIfAny(failures: readonly Error[], what: string): void {
  if (failures.length === 0) return;
  const reasons = failures.map(({ message }) => message).join('; ');
  throw new AggregateError(failures, `${what}: ${reasons}`);
}

function flatten(thrown: unknown): readonly Error[] {
  return thrown instanceof AggregateError ? thrown.errors.flatMap(flatten) : [asError(thrown)];
}
