import {
  type AdminSession,
  type BrokerDriver,
  type DriverLogger,
  errorReasonOf,
  type TopicDescription,
} from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../containers/container-registry.js';
import { bindingKey } from '../model/states/binding-ref.js';
import { OngoingProblems } from '../problems/ongoing-problems.js';
import { comparedTopics, topicFindings, type TopicConfig } from './topic-findings.js';
import type { NeededTopic, TopicUser } from './topic-plan.js';
import { missingTopic, missingTopicKey, refusedTopics } from './topic-problems.js';
import { checkedTopics, createsTopics, TopicProvisioner } from './topic-provisioner.js';

export interface TopicCheckParts {
  readonly driverOf: (cluster: string) => BrokerDriver;
  /** Problems of a binding; undefined if the application only publishes to it. */
  readonly problemsOf: (binding: TopicUser) => OngoingProblems | undefined;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The topic check after one start of a binding. The next start replaces it. */
interface TopicCheck {
  readonly binding: TopicUser;
}

/** Errors of topics that could not be created, by check. */
type Refusals = ReadonlyMap<TopicCheck, string>;

interface TopicsOfCluster {
  readonly topics: ReadonlyMap<string, TopicDescription>;
  readonly configs: ReadonlyMap<string, TopicConfig>;
}

const NO_REFUSALS: Refusals = new Map();
const CHECK_BACKOFF = { initialMs: 1_000, maxMs: 60_000 };
/** Interval at which a missing retry or dead-letter topic is looked for again. */
const MISSING_TOPIC_CHECK_MS = 10_000;

/**
 * Checks the topics of bindings that start: creates missing topics if configured, and warns about
 * settings in the cluster. A failed check does not prevent the start: a container whose topic is
 * missing waits for it.
 */
export class TopicChecks {
  readonly #waiting = new Map<string, TopicCheck[]>();
  /** The latest check of each binding. Earlier checks are obsolete and have no further effect. */
  readonly #latest = new Map<string, TopicCheck>();
  /**
   * For each binding that was published to: the creation of its topics. A creation that failed is
   * removed, so that the next publish tries again.
   */
  readonly #created = new Map<string, Promise<void>>();
  readonly #provisioner: TopicProvisioner;
  /** Topics that could not be created. */
  readonly #problems: OngoingProblems;
  readonly #ending = new AbortController();

  constructor(private readonly parts: TopicCheckParts) {
    this.#provisioner = new TopicProvisioner(parts.logger);
    this.#problems = new OngoingProblems(parts.runtime, parts.logger);
  }

  attach(registry: ContainerRegistry): void {
    registry.onChange((change) => {
      const { config, state } = change.registration;
      // Nobody watches the problems of a stopped binding, and its next start requests a check.
      if (change.kind === 'unregistered' || state === 'STOPPED')
        this.#latest.delete(checkKey(config));
      if (change.kind !== 'updated' || state !== 'RUNNING') return;
      const { previous } = change;
      if (previous.state === 'CREATED' || previous.state === 'STOPPED') this.request(config);
    });
  }

  /** Stops creating topics and logging warnings. */
  close(): void {
    this.#ending.abort();
    this.#problems.clear();
  }

  /**
   * Resolves when the main topic of a binding exists, and creates it if the start has not done so yet:
   * an application may publish while it starts. All calls wait for the same promise, so that they
   * keep their order.
   */
  whenCreated(binding: TopicUser): Promise<void> {
    const key = checkKey(binding);
    const known = this.#created.get(key);
    if (known) return known;
    const creating = this.#withAdmin(binding.cluster, (admin) =>
      this.#provisioner.provision(admin, { ...binding, isOnlyPublished: true }),
    );
    this.#created.set(key, creating);
    creating.catch(() => this.#created.delete(key));
    return creating;
  }

  /**
   * Requests a check. Bindings that start together are checked together, which needs fewer
   * requests.
   */
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
    const refused = await this.#provision(
      cluster,
      checks.filter(({ binding }) => createsTopics(binding)),
    );
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
    let reported: ReadonlySet<string> = new Set();
    while (left.size > 0) {
      reported = this.#report(cluster, left, reported);
      await sleep(runtime, backoff.next(), this.#ending.signal).catch(() => undefined);
      const tried = this.#currentChecks([...left.keys()]);
      left = await this.#provision(cluster, tried);
      await this.#warn(
        cluster,
        tried.filter((check) => !left.has(check)),
      );
    }
    this.#report(cluster, left, reported);
  }

  /**
   * Creates the topics of each binding separately, so that a refusal for one binding does not delay
   * the others.
   */
  async #provision(cluster: string, checks: readonly TopicCheck[]): Promise<Refusals> {
    const refused = new Map<TopicCheck, string>();
    if (checks.length === 0) return refused;
    const refuse = (check: TopicCheck, error: unknown): void =>
      void refused.set(check, errorReasonOf(error));
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

  /**
   * Reports each reason once, with all bindings it concerns, and ends those that were `reported`
   * before and are over. Returns the keys of the reports.
   */
  #report(cluster: string, refused: Refusals, reported: ReadonlySet<string>): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const reason of new Set(refused.values())) {
      const checks = [...refused].filter(([, each]) => each === reason);
      const bindings = checks.map(([{ binding }]) => binding.name).join(', ');
      const key = `${cluster}: ${reason}`;
      keys.add(key);
      if (!this.#ending.signal.aborted)
        this.#problems.report(refusedTopics(key, { cluster, bindings, reason }));
    }
    for (const key of reported) if (!keys.has(key)) this.#problems.end(key);
    return keys;
  }

  /**
   * Logs warnings about the topics. A check that failed is repeated without delaying the caller:
   * nothing else would report a missing topic before a record needs it.
   */
  async #warn(cluster: string, checks: readonly TopicCheck[]): Promise<void> {
    if (!(await this.#tryToWarn(cluster, checks))) void this.#warnLater(cluster, checks);
  }

  async #warnLater(cluster: string, checks: readonly TopicCheck[]): Promise<void> {
    const { runtime } = this.parts;
    const { signal } = this.#ending;
    const backoff = new Backoff(runtime, CHECK_BACKOFF);
    do await sleep(runtime, backoff.next(), signal, { background: true }).catch(() => undefined);
    while (!(await this.#tryToWarn(cluster, checks)));
  }

  /** Returns false if the check failed. Obsolete checks succeed without a request. */
  async #tryToWarn(cluster: string, checks: readonly TopicCheck[]): Promise<boolean> {
    const bindings = this.#currentChecks(checks).map(({ binding }) => binding);
    if (bindings.length === 0) return true;
    const { logger } = this.parts;
    try {
      const { topics, configs } = await this.#withAdmin(cluster, (admin) =>
        this.#describeTopics(admin, bindings),
      );
      for (const warning of bindings.flatMap((binding) => topicFindings(binding, topics, configs)))
        logger.warn(warning);
      this.#reportMissing(cluster, checks, topics);
      return true;
    } catch (error) {
      // No warning is logged: either the cluster is unreachable, which health reports, or the bus
      // is closing.
      logger.debug('The topics could not be checked', { cluster, error: errorReasonOf(error) });
      return false;
    }
  }

  /**
   * Reports retry and dead-letter topics that are missing, and looks for them again until they
   * exist.
   */
  #reportMissing(
    cluster: string,
    checks: readonly TopicCheck[],
    topics: ReadonlyMap<string, TopicDescription>,
  ): void {
    const incomplete = this.#currentChecks(checks).filter(({ binding }) => {
      const needed = checkedTopics(binding);
      const missing = needed.filter(({ name }) => !topics.has(name));
      const problems = this.parts.problemsOf(binding);
      for (const topic of needed.filter(({ name }) => topics.has(name)))
        problems?.end(missingTopicKey(topic));
      for (const topic of missing) problems?.report(missingTopic(binding, topic));
      return missing.length > 0;
    });
    if (incomplete.length > 0) void this.#lookAgain(cluster, incomplete);
  }

  async #lookAgain(cluster: string, checks: readonly TopicCheck[]): Promise<void> {
    const { runtime } = this.parts;
    const { signal } = this.#ending;
    for (;;) {
      await sleep(runtime, MISSING_TOPIC_CHECK_MS, signal, { background: true }).catch(() => false);
      const current = this.#currentChecks(checks);
      if (current.length === 0) return;
      try {
        const names = current.flatMap(({ binding }) => checkedTopics(binding).map(nameOf));
        const found = await this.#withAdmin(cluster, (admin) => admin.topics([...new Set(names)]));
        return this.#reportMissing(
          cluster,
          current,
          new Map(found.map((topic) => [topic.name, topic])),
        );
      } catch {
        // The cluster is unreachable, which health reports. The problems stay as they are.
      }
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
        // No warning is logged, because a consumer may lack the permission to read the
        // configuration of its topic.
        this.parts.logger.debug('The configuration of a topic could not be read', {
          topic: name,
          error,
        });
      }
    }
    return { topics, configs };
  }

  /**
   * Returns the checks that are not obsolete: their bindings were neither removed, stopped nor
   * started again.
   */
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

const nameOf = ({ name }: NeededTopic): string => name;
