import { VirtualRuntime } from '../../runtime/index.js';
import { MemoryBroker, type MemoryBrokerOptions } from '../memory-broker.js';
import type { MemoryCluster } from './memory-cluster.js';

/** Creates a cluster in virtual time. */
export function createTestCluster(options: MemoryBrokerOptions = {}): {
  readonly runtime: VirtualRuntime;
  readonly broker: MemoryBroker;
  readonly cluster: MemoryCluster;
} {
  const runtime = new VirtualRuntime();
  const broker = new MemoryBroker({ runtime, ...options });
  return { runtime, broker, cluster: broker.cluster };
}

/** Records whether and how a promise has settled, without waiting for it. */
export function observe<T>(promise: Promise<T>): { result?: T; error?: unknown; ended: boolean } {
  const seen: { result?: T; error?: unknown; ended: boolean } = { ended: false };
  promise.then(
    (result) => Object.assign(seen, { result, ended: true }),
    (error: unknown) => Object.assign(seen, { error, ended: true }),
  );
  return seen;
}
