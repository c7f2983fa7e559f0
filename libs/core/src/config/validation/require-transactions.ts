import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** Without transactions there is no producer that would need an id. */
export function requireTransactions(
  { values, origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { enabled, idPrefix } = values['transactions'] as Record<string, unknown>;
  const key = 'transactions.idPrefix';
  const said = origins.get(key);
  const saidBy = origins.get('transactions.enabled');
  if (enabled !== false || !said || said === library || isBroken('transactions')) return;
  // Where a binding switches them off, what all bindings have in common may stay.
  if (saidBy !== library && saidBy !== said) return;
  const message = `has no effect while transactions.enabled is false. Set it to true, or leave the prefix out.`;
  violations.add('TRANSACTIONS', below(path, key), idPrefix, message);
}
