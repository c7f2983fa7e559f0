import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { StoredOperation } from '../ledger/operation-state.js';

/** Refuses the approval of an operation that waits for none. */
export function requireApprovable({ canary, isCancelled, plan, verdict }: StoredOperation): void {
  const refuse = (complaint: string): never => {
    throw new RedriveRefusedException(plan.binding, complaint);
  };
  if (!canary) refuse('the operation has no canary to approve.');
  if (isCancelled) refuse('the operation was cancelled. Make a new plan for what is left.');
  if (verdict?.verdict === 'bad') refuse('its canary was bad. Make a new plan for what is left.');
}
