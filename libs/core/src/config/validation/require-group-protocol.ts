import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** Options that the broker decides in this protocol, with the names of its settings. */
const DECIDED_BY_BROKER = {
  assignmentStrategy: 'group.consumer.assignors',
  sessionTimeoutMs: 'group.consumer.session.timeout.ms',
  heartbeatIntervalMs: 'group.consumer.heartbeat.interval.ms',
} as const;

/**
 * Refuses options without effect in the protocol of Kafka 4, where the broker decides heartbeats,
 * session timeout and assignment.
 */
export function requireGroupProtocol(
  { values, origins }: Merged,
  layers: readonly Layer[],
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const protocolLayer = origins.get('groupProtocol');
  if (values['groupProtocol'] !== 'consumer' || !protocolLayer || isBroken('groupProtocol')) return;
  for (const [key, setting] of Object.entries(DECIDED_BY_BROKER)) {
    const keyLayer = layers.indexOf(origins.get(key) as Layer);
    // Common options of all bindings may stay if a single binding chooses the protocol.
    if (keyLayer < 0 || keyLayer > layers.indexOf(protocolLayer) || isBroken(key)) continue;
    const message = `has no effect while groupProtocol is 'consumer': the broker decides (${setting}). Leave it out, or set groupProtocol to 'classic'.`;
    violations.add('GROUP_PROTOCOL', below(path, key), values[key], message);
  }
}
