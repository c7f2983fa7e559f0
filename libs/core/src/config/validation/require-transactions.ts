import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** Refuses an id prefix without effect: without transactions no producer needs an id. */
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
  // Common options of all bindings may stay if a single binding disables transactions.
  if (enabledLayer !== library && enabledLayer !== keyLayer) return;
  const message = `has no effect while transactions.enabled is false. Set it to true, or leave the prefix out.`;
  violations.add('TRANSACTIONS', below(path, key), idPrefix, message);
}
