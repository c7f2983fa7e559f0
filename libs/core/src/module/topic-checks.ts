import type { BrokerDriver, DriverLogger, TopicDescription } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import type { ContainerRegistry } from '../container/container-registry.js';

export interface TopicCheckParts {
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Looks at the topics of bindings that start, and warns of what only the cluster can tell. It stops nothing. */
export class TopicChecks {
  readonly #waiting = new Map<string, Set<ResolvedBinding>>();

  constructor(private readonly parts: TopicCheckParts) {}

  attach(registry: ContainerRegistry): void {
    registry.onChange((change) => {
      if (change.kind !== 'updated' || change.registration.state !== 'RUNNING') return;
      const { state } = change.previous;
      if (state === 'CREATED' || state === 'STOPPED') this.#enqueue(change.registration.config);
    });
  }

  /** Bindings that start together are asked about together. */
  #enqueue(binding: ResolvedBinding): void {
    const waiting = this.#waiting.get(binding.cluster);
    if (waiting) {
      waiting.add(binding);
      return;
    }
    this.#waiting.set(binding.cluster, new Set([binding]));
    this.parts.runtime.defer(() => void this.#look(binding.cluster));
  }

  async #look(cluster: string): Promise<void> {
    const bindings = [...(this.#waiting.get(cluster) ?? [])];
    this.#waiting.delete(cluster);
    const { logger } = this.parts;
    try {
      const topics = await this.#topicsOf(cluster, bindings);
      for (const warning of bindings.flatMap((binding) => findings(binding, topics)))
        logger.warn(warning);
    } catch (error) {
      // The cluster cannot be reached, or the bus is closing: health tells the one, nobody misses the other.
      logger.debug('The topics could not be looked at', { cluster, error });
    }
  }

  async #topicsOf(
    cluster: string,
    bindings: readonly ResolvedBinding[],
  ): Promise<ReadonlyMap<string, TopicDescription>> {
    const names = bindings.flatMap((binding) =>
      binding.dlt.verifyTopic ? [binding.topic, binding.dlt.topic] : [binding.topic],
    );
    const admin = this.parts.driverOf(cluster).admin();
    try {
      const topics = await admin.topics([...new Set(names)]);
      return new Map(topics.map((topic) => [topic.name, topic]));
    } finally {
      await admin.close();
    }
  }
}

/** A topic that is missing altogether is a status of its container, and shown by health. */
function findings(
  { name, topic, concurrency, dlt }: ResolvedBinding,
  topics: ReadonlyMap<string, TopicDescription>,
): readonly string[] {
  const found: string[] = [];
  const partitions = topics.get(topic)?.partitions.length;
  if (partitions !== undefined && concurrency > partitions) {
    found.push(
      `Binding '${name}' has concurrency ${concurrency}, but topic '${topic}' has ${partitions} partition(s): ${concurrency - partitions} session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.`,
    );
  }
  if (dlt.verifyTopic && !topics.has(dlt.topic)) {
    found.push(
      `The dead-letter topic '${dlt.topic}' of binding '${name}' does not exist. Create it, or correct dlt.topic or dlt.topicSuffix.`,
    );
  }
  return found;
}
