import type {
  AdminSession,
  BrokerDriver,
  DriverLogger,
  TopicDescription,
} from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../containers/container-registry.js';
import { bindingKey } from '../model/states/binding-ref.js';
import {
  checkedTopics,
  comparedTopics,
  topicFindings,
  type TopicConfig,
} from './topic-findings.js';
import type { TopicUser } from './topic-plan.js';
import { TopicProvisioner } from './topic-provisioner.js';

export interface TopicCheckParts {
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** One start of a binding: the next one takes its place. */
interface TopicCheck {
  readonly binding: TopicUser;
}

/** Why the topics of a look could not be created. */
type Refusals = ReadonlyMap<TopicCheck, string>;

interface Found {
  readonly topics: ReadonlyMap<string, TopicDescription>;
  readonly configs: ReadonlyMap<string, TopicConfig>;
}

const NO_REFUSALS: Refusals = new Map();
const CHECK_BACKOFF = { initialMs: 1_000, maxMs: 60_000 };

/**
 * Looks at the topics of bindings that start: creates what is to be created, and warns of what only
 * the cluster can tell. It stops nothing: a container whose topic is missing waits for it.
 */
export class TopicChecks {
  readonly #waiting = new Map<string, TopicCheck[]>();
  /** The latest look at each binding: what an earlier one still wants, nobody wants any more. */
  readonly #latest = new Map<string, TopicCheck>();
  readonly #provisioner: TopicProvisioner;
  readonly #ending = new AbortController();

  constructor(private readonly parts: TopicCheckParts) {
    this.#provisioner = new TopicProvisioner(parts.logger);
  }

  attach(registry: ContainerRegistry): void {
    registry.onChange((change) => {
      if (change.kind === 'unregistered') this.#latest.delete(checkKey(change.registration.config));
      if (change.kind !== 'updated' || change.registration.state !== 'RUNNING') return;
      const { state } = change.previous;
      if (state === 'CREATED' || state === 'STOPPED') this.request(change.registration.config);
    });
  }

  /** Nothing is created, and nobody warned, any more. */
  close(): void {
    this.#ending.abort();
  }

  /** Bindings that start together are asked about together. */
  request(binding: TopicUser): void {
    const look: TopicCheck = { binding };
    this.#latest.set(checkKey(binding), look);
    const waiting = this.#waiting.get(binding.cluster);
    if (waiting) {
      waiting.push(look);
      return;
    }
    this.#waiting.set(binding.cluster, [look]);
    this.parts.runtime.defer(() => void this.#checkBindings(binding.cluster));
  }

  async #checkBindings(cluster: string): Promise<void> {
    const looks = this.#waiting.get(cluster) ?? [];
    this.#waiting.delete(cluster);
    const refused = await this.#provision(cluster, looks.filter(creates));
    await this.#warn(
      cluster,
      looks.filter((look) => !refused.has(look)),
    );
    await this.#checkUntilAnswered(cluster, refused);
  }

  /** For as long as it takes: without its topics a binding can neither read nor give anything up. */
  async #checkUntilAnswered(cluster: string, refused: Refusals): Promise<void> {
    const { runtime } = this.parts;
    const backoff = new Backoff(runtime, CHECK_BACKOFF);
    let left = refused;
    while (left.size > 0) {
      const waitMs = backoff.next();
      this.#report(cluster, left, waitMs);
      await sleep(runtime, waitMs, this.#ending.signal).catch(() => undefined);
      const tried = this.#bindingsOf([...left.keys()]);
      left = await this.#provision(cluster, tried);
      await this.#warn(
        cluster,
        tried.filter((look) => !left.has(look)),
      );
    }
  }

  /** What one binding may not have is no reason to keep the others waiting. */
  async #provision(cluster: string, looks: readonly TopicCheck[]): Promise<Refusals> {
    const refused = new Map<TopicCheck, string>();
    if (looks.length === 0) return refused;
    const refuse = (look: TopicCheck, error: unknown): void =>
      void refused.set(look, error instanceof Error ? error.message : String(error));
    try {
      await this.#withAdmin(cluster, async (admin) => {
        for (const look of looks) {
          if (this.#bindingsOf([look]).length === 0) continue;
          try {
            await this.#provisioner.provision(admin, look.binding);
          } catch (error) {
            refuse(look, error);
          }
        }
      });
    } catch (error) {
      // Nobody could be asked at all.
      for (const look of looks) refuse(look, error);
    }
    return this.#ending.signal.aborted ? NO_REFUSALS : refused;
  }

  #report(cluster: string, refused: Refusals, waitMs: number): void {
    for (const reason of new Set(refused.values())) {
      const looks = [...refused].filter(([, each]) => each === reason);
      this.parts.logger.warn('Topics could not be created, which is tried again', {
        cluster,
        bindings: looks.map(([{ binding }]) => binding.name).join(', '),
        reason,
        afterMs: Math.round(waitMs),
      });
    }
  }

  async #warn(cluster: string, looks: readonly TopicCheck[]): Promise<void> {
    const bindings = this.#bindingsOf(looks).map(({ binding }) => binding);
    if (bindings.length === 0) return;
    const { logger } = this.parts;
    try {
      const { topics, configs } = await this.#withAdmin(cluster, (admin) =>
        this.#find(admin, bindings),
      );
      for (const warning of bindings.flatMap((binding) => topicFindings(binding, topics, configs)))
        logger.warn(warning);
    } catch (error) {
      // The cluster cannot be reached, or the bus is closing: health tells the one, nobody misses the other.
      logger.debug('The topics could not be looked at', { cluster, error });
    }
  }

  async #find(admin: AdminSession, bindings: readonly TopicUser[]): Promise<Found> {
    const names = bindings.flatMap((binding) => [
      binding.topic,
      ...checkedTopics(binding).map(({ name }) => name),
    ]);
    const topics = new Map(
      (await admin.topics([...new Set(names)])).map((topic) => [topic.name, topic]),
    );
    const configs = new Map<string, TopicConfig>();
    for (const name of new Set(bindings.flatMap(comparedTopics))) {
      if (!topics.has(name)) continue;
      try {
        configs.set(name, await admin.topicConfig(name));
      } catch (error) {
        // Who reads a topic need not be allowed to read its configuration.
        this.parts.logger.debug('The configuration of a topic could not be read', {
          topic: name,
          error,
        });
      }
    }
    return { topics, configs };
  }

  /** Of bindings that were neither removed nor started again since. */
  #bindingsOf(looks: readonly TopicCheck[]): readonly TopicCheck[] {
    if (this.#ending.signal.aborted) return [];
    return looks.filter((look) => this.#latest.get(checkKey(look.binding)) === look);
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

const checkKey = ({ cluster, name }: TopicUser): string => bindingKey(cluster, name);

const creates = ({ binding }: TopicCheck): boolean => binding.provisioning === 'create';
