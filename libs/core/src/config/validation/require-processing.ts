import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** One handler at a time for a partition is one handler at a time, whatever the concurrency says. */
export function requireProcessing(
  { values, origins }: Merged,
  library: Layer,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { by, maxConcurrency } = values['processing'] as Record<string, unknown>;
  const key = 'processing.maxConcurrency';
  const said = origins.get(key);
  const saidBy = origins.get('processing.by');
  if (by !== 'partition' || !said || said === library || isBroken('processing')) return;
  // Where a binding chooses its partition's order, what all bindings have in common may stay.
  if (saidBy !== library && saidBy !== said) return;
  const message = `has no effect while processing.by is 'partition': each partition has one handler at a time. Set processing.by to 'key' (order per key) or 'none', or leave it out.`;
  violations.add('PROCESSING', below(path, key), maxConcurrency, message);
}
