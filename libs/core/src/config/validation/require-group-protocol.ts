import type { Layer, Merged } from '../reading/merge-layers.js';
import { below, type Violations } from './violations.js';

/** What the broker decides instead, and by which of its settings. */
const OF_THE_BROKER = {
  assignmentStrategy: 'group.consumer.assignors',
  sessionTimeoutMs: 'group.consumer.session.timeout.ms',
  heartbeatIntervalMs: 'group.consumer.heartbeat.interval.ms',
} as const;

/** In the protocol of Kafka 4 members are told when to beat, when they are late and what they get. */
export function requireGroupProtocol(
  { values, origins }: Merged,
  layers: readonly Layer[],
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const saidBy = origins.get('groupProtocol');
  if (values['groupProtocol'] !== 'consumer' || !saidBy || isBroken('groupProtocol')) return;
  for (const [key, setting] of Object.entries(OF_THE_BROKER)) {
    const said = layers.indexOf(origins.get(key) as Layer);
    // Where a binding chooses the protocol, what all bindings have in common may stay.
    if (said < 0 || said > layers.indexOf(saidBy) || isBroken(key)) continue;
    const message = `has no effect while groupProtocol is 'consumer': the broker decides (${setting}). Leave it out, or set groupProtocol to 'classic'.`;
    violations.add('GROUP_PROTOCOL', below(path, key), values[key], message);
  }
}
