import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import { KafkaStartError } from './kafka-unavailable-error.js';
import { probeMetadata } from './metadata-probe.js';

export interface ReadinessOptions {
  readonly addresses: readonly string[];
  /** Nodes that every address must see; by default any. */
  readonly nodes?: readonly number[];
  readonly timeoutMs: number;
  /** Called between probes; returns a reason to stop waiting, such as "the process ended". */
  readonly fatalReason?: () => string | undefined;
}

/**
 * Waits until every address answers and sees the whole cluster and a controller: an open port is
 * not enough.
 */
export async function untilReady(runtime: Runtime, options: ReadinessOptions): Promise<void> {
  const { addresses, nodes = [], timeoutMs, fatalReason } = options;
  const deadline = runtime.monotonic() + timeoutMs;
  for (const address of addresses) {
    for (;;) {
      const problem = await problemAt(runtime, address, nodes);
      if (problem === undefined) break;
      const reason = fatalReason?.();
      if (reason !== undefined) throw new KafkaStartError(reason);
      if (runtime.monotonic() >= deadline) {
        throw new KafkaStartError(`Kafka was not ready after ${timeoutMs} ms: ${problem}.`);
      }
      await sleep(runtime, 20);
    }
  }
}

async function problemAt(
  runtime: Runtime,
  address: string,
  nodes: readonly number[],
): Promise<string | undefined> {
  try {
    const view = await probeMetadata(runtime, address);
    const unseen = nodes.filter((node) => !view.brokerIds.includes(node));
    if (unseen.length > 0) return `${address} does not see node ${unseen.join(', ')}`;
    return view.controllerId < 0 ? `${address} sees no controller` : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
