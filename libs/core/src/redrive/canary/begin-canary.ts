import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { CanaryEntry } from '../ledger/ledger-entry.js';
import type { OperationLog } from '../ledger/operation-log.js';
import type { StoredOperation } from '../ledger/operation-state.js';
import { canaryOf, type CanaryOptions } from './canary-options.js';

/**
 * Stores the canary of an operation before its first letter is replayed. A later run, of any node,
 * keeps to it. Refuses another canary, and one for an operation that has begun without.
 */
export async function beginCanary(
  { canary, id, plan, progress }: StoredOperation,
  given: number | CanaryOptions | undefined,
  operations: Pick<OperationLog, 'saveCanary'>,
  { by, at }: { readonly by: string; readonly at: number },
): Promise<CanaryEntry | undefined> {
  if (given === undefined) return canary;
  const wanted = canaryOf(given);
  const refuse = (complaint: string): never => {
    throw new RedriveRefusedException(plan.binding, complaint);
  };
  if (canary) {
    const isSame =
      canary.letters === wanted.letters &&
      canary.continue === wanted.continue &&
      canary.undecidedForMs === wanted.undecidedForMs;
    if (!isSame) refuse('the operation has another canary. Run it without the option canary.');
    return canary;
  }
  if ([...progress.values()].some(({ replayed, failed }) => replayed + failed > 0))
    refuse('the operation has begun without a canary. Run it without the option canary.');
  const begun = { ...wanted, by, at };
  await operations.saveCanary(id, begun);
  return { kind: 'canary', ...begun };
}
