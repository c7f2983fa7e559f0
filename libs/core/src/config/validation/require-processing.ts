import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/**
 * Refuses maxConcurrency without effect: with processing by partition, each partition has one
 * handler at a time.
 */
export function requireProcessing(
  { values, origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { by, maxConcurrency } = values['processing'] as Record<string, unknown>;
  const key = 'processing.maxConcurrency';
  const keyLayer = origins.get(key);
  const byLayer = origins.get('processing.by');
  if (by !== 'partition' || !keyLayer || keyLayer === library || isBroken('processing')) return;
  // Common options of all bindings may stay if a single binding chooses processing by partition.
  if (byLayer !== library && byLayer !== keyLayer) return;
  const message = `has no effect while processing.by is 'partition': each partition has one handler at a time. Set processing.by to 'key' (order per key) or 'none', or leave it out.`;
  violations.add('PROCESSING', below(path, key), maxConcurrency, message);
}
