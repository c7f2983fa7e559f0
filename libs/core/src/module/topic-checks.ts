import type {
  AdminSession,
  BrokerDriver,
  DriverLogger,
  TopicDescription,
} from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../container/container-registry.js';
import { neededTopics, type NeededTopic, type TopicUser } from './topic-plan.js';
import { TopicProvisioner } from './topic-provisioner.js';

export interface TopicCheckParts {
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

const AGAIN = { initialMs: 1_000, maxMs: 60_000 };

/**
 * Looks at the topics of bindings that start: creates what is to be created, and warns of what only
 * the cluster can tell. It stops nothing: a container whose topic is missing waits for it.
 */
export class TopicChecks {
  readonly #waiting = new Map<string, Set<TopicUser>>();
  readonly #provisioner: TopicProvisioner;
  readonly #ending = new AbortController();

  constructor(private readonly parts: TopicCheckParts) {
    this.#provisioner = new TopicProvisioner(parts.logger);
  }

  attach(registry: ContainerRegistry): void {
    registry.onChange((change) => {
      if (change.kind !== 'updated' || change.registration.state !== 'RUNNING') return;
      const { state } = change.previous;
      if (state === 'CREATED' || state === 'STOPPED') this.look(change.registration.config);
    });
  }

  /** Nothing is created, and nobody warned, any more. */
  close(): void {
    this.#ending.abort();
  }

  /** Bindings that start together are asked about together. */
  look(binding: TopicUser): void {
    const waiting = this.#waiting.get(binding.cluster);
    if (waiting) {
      waiting.add(binding);
      return;
    }
    this.#waiting.set(binding.cluster, new Set([binding]));
    this.parts.runtime.defer(() => void this.#lookAt(binding.cluster));
  }

  async #lookAt(cluster: string): Promise<void> {
    const bindings = [...(this.#waiting.get(cluster) ?? [])];
    this.#waiting.delete(cluster);
    await this.#provision(
      cluster,
      bindings.filter(({ provisioning }) => provisioning === 'create'),
    );
    await this.#warn(cluster, bindings);
  }

  /** For as long as it takes: without its topics a binding can neither read nor give anything up. */
  async #provision(cluster: string, bindings: readonly TopicUser[]): Promise<void> {
    const { runtime, logger } = this.parts;
    const backoff = new Backoff(runtime, AGAIN);
    while (bindings.length > 0 && !this.#ending.signal.aborted) {
      try {
        return await this.#withAdmin(cluster, (admin) =>
          this.#provisioner.provision(admin, bindings),
        );
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        const waitMs = backoff.next();
        const names = bindings.map(({ name }) => name).join(', ');
        logger.warn('Topics could not be created, which is tried again', {
          cluster,
          bindings: names,
          reason: error instanceof Error ? error.message : String(error),
          afterMs: Math.round(waitMs),
        });
        await sleep(runtime, waitMs, this.#ending.signal).catch(() => undefined);
      }
    }
  }

  async #warn(cluster: string, bindings: readonly TopicUser[]): Promise<void> {
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

  #topicsOf(
    cluster: string,
    bindings: readonly TopicUser[],
  ): Promise<ReadonlyMap<string, TopicDescription>> {
    const names = bindings.flatMap((binding) => [
      binding.topic,
      ...checked(binding).map(({ name }) => name),
    ]);
    return this.#withAdmin(cluster, async (admin) => {
      const topics = await admin.topics([...new Set(names)]);
      return new Map(topics.map((topic) => [topic.name, topic]));
    });
  }

  async #withAdmin<T>(cluster: string, act: (admin: AdminSession) => Promise<T>): Promise<T> {
    const admin = this.parts.driverOf(cluster).admin();
    try {
      return await act(admin);
    } finally {
      await admin.close();
    }
  }
}

/** The main topic is a status of its container, and shown by health. */
function checked(binding: TopicUser): readonly NeededTopic[] {
  const { provisioning, dlt } = binding;
  return neededTopics(binding).filter(({ role }) => {
    if (role === 'main') return false;
    return provisioning !== 'none' || (role === 'dead-letter' && dlt.verifyTopic);
  });
}

function findings(
  binding: TopicUser,
  topics: ReadonlyMap<string, TopicDescription>,
): readonly string[] {
  const { name, topic, isOnlyPublished } = binding;
  const concurrency = isOnlyPublished ? 0 : binding.concurrency;
  const partitions = topics.get(topic)?.partitions.length;
  const missing = checked(binding).filter((needed) => !topics.has(needed.name));
  return [
    ...(partitions !== undefined && concurrency > partitions
      ? [
          `Binding '${name}' has concurrency ${concurrency}, but topic '${topic}' has ${partitions} partition(s): ${concurrency - partitions} session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.`,
        ]
      : []),
    ...missing.map(
      (needed) =>
        `The ${needed.role} topic '${needed.name}' of binding '${name}' does not exist: a record that fails would wait in its place, and its partition with it. Create it, set provisioning: 'create', or ${remedy(needed)}.`,
    ),
  ];
}

const remedy = ({ role }: NeededTopic): string =>
  role === 'retry' ? 'correct retry.tiers' : 'correct dlt.topic or dlt.topicSuffix';
