import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/**
 * Requires a store as soon as any idempotency option is set, because without a store none of them
 * has an effect.
 */
export function requireIdempotencyStore(
  { origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const key = 'idempotency.store';
  if (origins.get(key) !== library || isBroken(key)) return;
  const firstSet = [...origins].find(
    ([other, layer]) => other.startsWith('idempotency.') && layer !== library,
  );
  if (!firstSet) return;
  const message = `is missing: ${firstSet[0]} (from ${firstSet[1].source}) has no effect without one. Add store: memoryIdempotencyStore(), or a store that all processes share.`;
  violations.add('REQUIRED', below(path, key), undefined, message);
}
