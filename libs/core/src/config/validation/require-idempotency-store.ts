import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** Without a store nothing is remembered: whatever else is said about idempotency would have no effect. */
export function requireIdempotencyStore(
  { origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const key = 'idempotency.store';
  if (origins.get(key) !== library || isBroken(key)) return;
  const said = [...origins].find(
    ([other, layer]) => other.startsWith('idempotency.') && layer !== library,
  );
  if (!said) return;
  const message = `is missing: ${said[0]} (from ${said[1].source}) has no effect without one. Add store: memoryIdempotencyStore(), or a store that all processes share.`;
  violations.add('REQUIRED', below(path, key), undefined, message);
}
