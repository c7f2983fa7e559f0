import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/**
 * Refuses an id prefix without effect: a producer needs a transactional id only with transactions.
 */
export function requireTransactions(
  { values, origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { enabled, idPrefix } = values['transactions'] as Record<string, unknown>;
  const key = 'transactions.idPrefix';
  const keyLayer = origins.get(key);
  const enabledLayer = origins.get('transactions.enabled');
  if (enabled !== false || !keyLayer || keyLayer === library || isBroken('transactions')) return;
  // An option that is set for all bindings is not refused because one binding disabled
  // transactions: the other bindings still use it.
  if (enabledLayer !== library && enabledLayer !== keyLayer) return;
  const message = `has no effect while transactions.enabled is false. Set it to true, or leave the prefix out.`;
  violations.add('TRANSACTIONS', below(path, key), idPrefix, message);
}
