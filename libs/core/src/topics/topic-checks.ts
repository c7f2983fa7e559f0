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

/** The check of one start of a binding. The next start replaces it. */
interface TopicCheck {
  readonly binding: TopicUser;
}

/** Reasons why topics could not be created, by check. */
type Refusals = ReadonlyMap<TopicCheck, string>;

interface TopicsOfCluster {
  readonly topics: ReadonlyMap<string, TopicDescription>;
  readonly configs: ReadonlyMap<string, TopicConfig>;
}

const NO_REFUSALS: Refusals = new Map();
const CHECK_BACKOFF = { initialMs: 1_000, maxMs: 60_000 };

/**
 * Checks the topics of bindings that start: creates missing topics if configured, and warns about
 * settings that only the cluster knows. A failed check stops nothing: a container whose topic is
 * missing waits for it.
 */
export class TopicChecks {
  readonly #waiting = new Map<string, TopicCheck[]>();
  /** The latest check of each binding. An earlier check is obsolete and does nothing more. */
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

  /** Stops creating topics and logging warnings. */
  close(): void {
    this.#ending.abort();
  }

  /** Requests a check. Bindings that start together are checked together, to save requests. */
  request(binding: TopicUser): void {
    const check: TopicCheck = { binding };
    this.#latest.set(checkKey(binding), check);
    const waiting = this.#waiting.get(binding.cluster);
    if (waiting) {
      waiting.push(check);
      return;
    }
    this.#waiting.set(binding.cluster, [check]);
    this.parts.runtime.defer(() => void this.#checkBindings(binding.cluster));
  }

  async #checkBindings(cluster: string): Promise<void> {
    const checks = this.#waiting.get(cluster) ?? [];
    this.#waiting.delete(cluster);
    const refused = await this.#provision(cluster, checks.filter(createsTopics));
    await this.#warn(
      cluster,
      checks.filter((check) => !refused.has(check)),
    );
    await this.#retryUntilCreated(cluster, refused);
  }

  /**
   * Repeats without a limit, because a binding without its topics can neither consume nor write
   * failed records.
   */
  async #retryUntilCreated(cluster: string, refused: Refusals): Promise<void> {
    const { runtime } = this.parts;
    const backoff = new Backoff(runtime, CHECK_BACKOFF);
    let left = refused;
    while (left.size > 0) {
      const waitMs = backoff.next();
      this.#report(cluster, left, waitMs);
      await sleep(runtime, waitMs, this.#ending.signal).catch(() => undefined);
      const tried = this.#currentChecks([...left.keys()]);
      left = await this.#provision(cluster, tried);
      await this.#warn(
        cluster,
        tried.filter((check) => !left.has(check)),
      );
    }
  }

  /** Provisions each binding separately, so that a refusal for one does not delay the others. */
  async #provision(cluster: string, checks: readonly TopicCheck[]): Promise<Refusals> {
    const refused = new Map<TopicCheck, string>();
    if (checks.length === 0) return refused;
    const refuse = (check: TopicCheck, error: unknown): void =>
      void refused.set(check, error instanceof Error ? error.message : String(error));
    try {
      await this.#withAdmin(cluster, async (admin) => {
        for (const check of checks) {
          if (this.#currentChecks([check]).length === 0) continue;
          try {
            await this.#provisioner.provision(admin, check.binding);
          } catch (error) {
            refuse(check, error);
          }
        }
      });
    } catch (error) {
      // The admin session failed, so no topic could be created.
      for (const check of checks) refuse(check, error);
    }
    return this.#ending.signal.aborted ? NO_REFUSALS : refused;
  }

  #report(cluster: string, refused: Refusals, waitMs: number): void {
    for (const reason of new Set(refused.values())) {
      const checks = [...refused].filter(([, each]) => each === reason);
      this.parts.logger.warn('Topics could not be created. Trying again', {
        cluster,
        bindings: checks.map(([{ binding }]) => binding.name).join(', '),
        reason,
        afterMs: Math.round(waitMs),
      });
    }
  }

  async #warn(cluster: string, checks: readonly TopicCheck[]): Promise<void> {
    const bindings = this.#currentChecks(checks).map(({ binding }) => binding);
    if (bindings.length === 0) return;
    const { logger } = this.parts;
    try {
      const { topics, configs } = await this.#withAdmin(cluster, (admin) =>
        this.#describeTopics(admin, bindings),
      );
      for (const warning of bindings.flatMap((binding) => topicFindings(binding, topics, configs)))
        logger.warn(warning);
    } catch (error) {
      // The cluster is unreachable, which health reports, or the bus is closing, which needs no warning.
      logger.debug('The topics could not be checked', { cluster, error });
    }
  }

  async #describeTopics(
    admin: AdminSession,
    bindings: readonly TopicUser[],
  ): Promise<TopicsOfCluster> {
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
        // A consumer may lack the permission to read the configuration of its topic.
        this.parts.logger.debug('The configuration of a topic could not be read', {
          topic: name,
          error,
        });
      }
    }
    return { topics, configs };
  }

  /** Returns the checks that are not obsolete: their bindings were neither removed nor started again. */
  #currentChecks(checks: readonly TopicCheck[]): readonly TopicCheck[] {
    if (this.#ending.signal.aborted) return [];
    return checks.filter((check) => this.#latest.get(checkKey(check.binding)) === check);
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

const createsTopics = ({ binding }: TopicCheck): boolean => binding.provisioning === 'create';
