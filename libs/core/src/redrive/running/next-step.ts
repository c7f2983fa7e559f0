import { canaryQuotas, triedIn } from '../canary/canary-quotas.js';
import type { CanaryEntry } from '../ledger/ledger-entry.js';
import { isCompleted, type StoredOperation } from '../ledger/operation-state.js';

/** The next step of an operation. */
export type RedriveStep =
  /** `quotas`: letters of each partition that belong to the canary; undefined for no limit. */
  | { readonly kind: 'replay'; readonly quotas?: ReadonlyMap<number, number> }
  | { readonly kind: 'await-outcomes'; readonly canary: CanaryEntry }
  | { readonly kind: 'await-approval' }
  | { readonly kind: 'end'; readonly state: 'cancelled' | 'completed' | 'rejected' };

/** Decides by what the ledger says, so all nodes decide alike, and a restart changes nothing. */
export function nextStepOf(operation: StoredOperation): RedriveStep {
  const { approval, canary, plan, progress, verdict } = operation;
  if (isCompleted(operation)) return { kind: 'end', state: 'completed' };
  if (operation.isCancelled) return { kind: 'end', state: 'cancelled' };
  if (!canary) return { kind: 'replay' };
  if (verdict?.verdict === 'bad') return { kind: 'end', state: 'rejected' };
  if (approval) return { kind: 'replay' };
  if (verdict)
    return canary.continue === 'automatically' ? { kind: 'replay' } : { kind: 'await-approval' };
  const quotas = canaryQuotas(canary.letters, plan.partitions, progress);
  const isWritten = [...quotas].every(
    ([partition, quota]) => triedIn(progress.get(partition)) >= quota,
  );
  return isWritten ? { kind: 'await-outcomes', canary } : { kind: 'replay', quotas };
}
