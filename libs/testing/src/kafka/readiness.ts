import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import { KafkaStartError } from './kafka-unavailable-error.js';
import { probeMetadata } from './metadata-probe.js';

export interface ReadinessOptions {
  readonly addresses: readonly string[];
  /** The nodes that each of them must see; without any named, whoever is there. */
  readonly nodes?: readonly number[];
  readonly timeoutMs: number;
  /** Looked at between probes: a reason to give up early, as "the process ended". */
  readonly hopeless?: () => string | undefined;
}

/** Waits until every address serves and sees the whole cluster and a controller: an open port is not enough. */
export async function untilReady(runtime: Runtime, options: ReadinessOptions): Promise<void> {
  const { addresses, nodes = [], timeoutMs, hopeless } = options;
  const deadline = runtime.monotonic() + timeoutMs;
  for (const address of addresses) {
    for (;;) {
      const trouble = await troubleAt(runtime, address, nodes);
      if (trouble === undefined) break;
      const verdict = hopeless?.();
      if (verdict !== undefined) throw new KafkaStartError(verdict);
      if (runtime.monotonic() >= deadline) {
        throw new KafkaStartError(`Kafka was not ready after ${timeoutMs} ms: ${trouble}.`);
      }
      await sleep(runtime, 20);
    }
  }
}

async function troubleAt(
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
