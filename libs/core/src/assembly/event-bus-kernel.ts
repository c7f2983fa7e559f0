import { type BrokerDriver, type DriverLogger, ownError } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { EventBusAdmin } from '../admin/event-bus-admin.js';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import { mergeLayers } from '../config/reading/merge-layers.js';
import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import { ShutdownGate } from '../containers/shutdown/shutdown-gate.js';
import { CircuitBreakerLifecycleBridge } from '../containers/lifecycle/circuit-breaker-lifecycle-bridge.js';
import { ContainerFactory } from '../containers/container-factory.js';
import type { ContainerRegistration } from '../containers/container-registration.js';
import { ContainerRegistry } from '../containers/container-registry.js';
import { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import { JoinSlots } from '../containers/lifecycle/join-slots.js';
import { LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from '../containers/shutdown/shutdown-coordinator.js';
import { startBindings, type StartupReport } from '../containers/lifecycle/start-bindings.js';
import { handlersOf } from '../discovery/exploring/match-handlers.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import {
  isMeant,
  type EventListenerDefinition,
} from '../discovery/exploring/event-listener-definition.js';
import { createConsumingSession } from '../consuming/session/supervised-session.js';
import { BufferLimit } from '../consuming/lanes/buffer-limit.js';
import { EventHub } from '../events/event-hub.js';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import { GuardedTracer } from '../observability/tracing/guarded-tracer.js';
import { EventBusMetrics } from '../observability/event-bus-metrics.js';
import { EventBusDoctor } from '../observability/doctor/event-bus-doctor.js';
import { KafkaHealth } from '../containers/health/kafka-health.js';
import type { LagReading } from '../observability/lag-catalogue.js';
import { LagAlerts } from '../observability/alerts/lag-alerts.js';
import { LagService } from '../observability/lag/lag-service.js';
import { KafkaMetrics } from '../observability/kafka-metrics.js';
import { EventPublisher } from '../publisher/event-publisher.js';
import { PublishMeters } from '../publisher/publish-meters.js';
import { DltReplayService } from '../redrive/dlt-replay-service.js';
import { OpenLetters } from '../redrive/depth/open-letters.js';
import type { RedriveParts } from '../redrive/ledger/ledger-access.js';
import { LedgerCache } from '../redrive/ledger/ledger-cache.js';
import { ReplaySchedule } from '../redrive/schedule/replay-schedule.js';
import { DltStatsService } from '../redrive/stats/dlt-stats-service.js';
import {
  KafkaErrorHandler,
  type KafkaErrorHandlerOptions,
} from '../failures/routing/kafka-error-handler.js';
import { Fleet } from '../fleet/fleet.js';
import { emitBindingChanges } from './binding-change-events.js';
import { BindingBuilder } from './binding-builder.js';
import { BusSettings } from './bus-settings.js';
import { Clusters } from './clusters.js';
import { NO_FAILURE_PARTS, type FailureParts } from './failure-handling-factory.js';
import { bindingOf, publishTargets } from './publish-targets.js';
import { TopicChecks } from '../topics/topic-checks.js';
import { StartupErrors } from './startup-errors.js';

const DEFAULT_CLUSTER = 'default';

/**
 * Creates and connects the parts of the bus. Each part is a plain class that knows neither Nest nor
 * how the other parts are created.
 */
export class EventBusKernel {
  readonly registry: ContainerRegistry;
  readonly factory: ContainerFactory;
  readonly lifecycle: LifecycleManager;
  readonly connector: EventBusConnector;
  readonly publisher: EventPublisher;
  readonly shutdown: ShutdownCoordinator;
  readonly metrics: EventBusMetrics;
  readonly lag: LagService;
  readonly kafkaMetrics: KafkaMetrics;
  readonly lagAlerts: LagAlerts;
  readonly doctor: EventBusDoctor;
  readonly kafkaHealth: KafkaHealth;
  readonly errorHandler: KafkaErrorHandler;
  readonly replay: DltReplayService;
  readonly deadLetterStats: DltStatsService;
  readonly fleet: Fleet;
  readonly admin: EventBusAdmin;
  readonly replaySchedule: ReplaySchedule;
  /** Takes the listeners of the application for the events of the bus. */
  readonly hub: EventHub;
  readonly #settings = new BusSettings();
  #tracer: GuardedTracer | undefined;
  #errorHandling: KafkaErrorHandlerOptions = {};
  readonly #builder: BindingBuilder;
  readonly #topics: TopicChecks;

  constructor(
    readonly runtime: Runtime,
    readonly logger: DriverLogger,
  ) {
    this.hub = new EventHub(runtime, logger);
    const shutdownGate = new ShutdownGate();
    const registry = new ContainerRegistry(runtime, logger);
    const drainTimeoutMs = (): number =>
      (this.#settings.options ?? EVENTBUS_DEFAULTS).shutdown.drainTimeoutMs;
    const parts = { registry, shutdownGate, runtime, logger, drainTimeoutMs };
    const lifecycle = new LifecycleManager(parts);
    new CircuitBreakerLifecycleBridge({ registry, lifecycle, logger }).attach();
    const driverOf = (cluster: string): BrokerDriver =>
      this.#settings.require('check topics').clusters.driver(cluster);
    this.#topics = new TopicChecks({
      driverOf,
      problemsOf: (binding) => registry.get(binding)?.problems,
      runtime,
      logger,
    });
    this.#topics.attach(registry);
    emitBindingChanges(registry, this.hub, runtime);
    const slots = new JoinSlots(
      runtime,
      () => (this.#settings.options ?? EVENTBUS_DEFAULTS).startup.concurrency,
    );
    const createSession = createConsumingSession;
    const bufferLimit = new BufferLimit(
      () => (this.#settings.options ?? EVENTBUS_DEFAULTS).intake.bufferBytes,
    );
    this.factory = new ContainerFactory({
      createSession,
      slots,
      bufferLimit,
      tracer: () => this.#tracer,
      runtime,
      logger,
    });
    const builder = new BindingBuilder(
      this.#settings,
      registry,
      lifecycle,
      this.hub,
      runtime,
      logger,
      undefined,
      () => this.#tracer,
    );
    this.registry = registry;
    this.lifecycle = lifecycle;
    this.#builder = builder;
    this.connector = new EventBusConnector({
      ...parts,
      lifecycle,
      prepareBinding: (...binding) => builder.prepareFrom(...binding),
      prepareDeclared: (...binding) => builder.prepareDeclared(...binding),
      isStopped: (registration) => this.fleet.isStopped(registration),
      isDisabled: () => (this.#settings.options?.enabled ?? 'enabled') !== 'enabled',
    });
    const publishes = new PublishMeters(runtime);
    this.publisher = new EventPublisher(
      publishTargets(
        this.#settings,
        registry,
        builder.formats,
        this.#topics,
        publishes,
        () => this.#tracer,
      ),
    );
    this.shutdown = new ShutdownCoordinator({ ...parts, lifecycle });
    const { metrics } = EVENTBUS_DEFAULTS;
    this.kafkaMetrics = new KafkaMetrics(runtime);
    this.metrics = new EventBusMetrics({
      registry,
      shutdownGate,
      isEnabled: () => (this.#settings.options?.metrics ?? metrics).enabled,
      publishes,
      topics: this.kafkaMetrics,
      lags: () => this.#lags(),
    });
    this.lag = new LagService({
      registry,
      driverOf: (cluster) => this.#settings.require('read the lag').clusters.driver(cluster),
      openLetters: (binding) => new OpenLetters(binding),
      options: () => (this.#settings.options ?? EVENTBUS_DEFAULTS).lag,
      runtime,
      logger,
    });
    this.lagAlerts = new LagAlerts({ lag: this.lag, registry, events: this.hub });
    this.lagAlerts.attach();
    this.doctor = new EventBusDoctor({ registry, lag: this.lag, runtime });
    this.kafkaHealth = new KafkaHealth({
      driverOf: (cluster) => this.#settings.require('check a cluster').clusters.driver(cluster),
      aliases: () => Object.keys(this.#settings.options?.clusters ?? {}),
      runtime,
    });
    this.errorHandler = new KafkaErrorHandler({
      producer: (cluster) => {
        const { clusters } = this.#settings.require('route a record');
        return clusters.durableProducer(cluster ?? clusterToWriteTo(clusters.aliases));
      },
      runtime,
      options: () => this.#errorHandling,
    });
    const redrive: RedriveParts = {
      bindingOf: (ref) => bindingOf(ref, registry, this.#settings.options),
      bindings: () => registry.listAll().map(({ config }) => config),
      driverOf: (cluster) => this.#settings.require('read dead letters').clusters.driver(cluster),
      producerOf: (cluster) =>
        this.#settings.require('redrive dead letters').clusters.durableProducer(cluster),
      circuitOf: (binding) => registry.get(binding)?.circuitBreaker.current?.state,
      ledgers: new LedgerCache(),
      events: this.hub,
      runtime,
      logger,
    };
    this.replay = new DltReplayService(redrive);
    this.replaySchedule = new ReplaySchedule({ replay: this.replay, runtime, logger });
    this.deadLetterStats = new DltStatsService(redrive);
    const { connector, deadLetterStats, hub, replay } = this;
    this.fleet = new Fleet({
      ...parts,
      driverOf: (cluster) => this.#settings.require('command the fleet').clusters.driver(cluster),
      producerOf: (cluster) =>
        this.#settings.require('command the fleet').clusters.durableProducer(cluster),
      lagOf: (ref) => this.lag.of(ref),
      obey: (action, ref, note) => this.admin.obey(action, ref, note),
    });
    const { fleet } = this;
    this.admin = new EventBusAdmin({
      ...parts,
      ...{ connector, deadLetterStats, driverOf, fleet, hub, lifecycle, replay },
      sourcesOf: (config) => builder.sourcesOf(config),
      prepareChange: (...change) => builder.prepareChange(...change),
    });
  }

  #lags(): readonly LagReading[] {
    return this.registry.listAll().flatMap((registration) => {
      const { bindingName: name, cluster } = registration;
      const lag = this.lag.of({ name, cluster });
      return lag ? [{ lag, alerts: this.lagAlerts.statesOf(registration) }] : [];
    });
  }

  /** Resolved options; undefined until the application is initialised. */
  get options(): ResolvedOptions | undefined {
    return this.#settings.options;
  }

  /** Traces all bindings with this tracer. To be called before `assemble`. */
  trace(tracer: EventBusTracer | undefined): void {
    this.#tracer = tracer && new GuardedTracer(tracer, this.runtime, this.logger);
  }

  /** Calls these methods of the application with the events that they want. */
  listen(listeners: readonly EventListenerDefinition[]): void {
    for (const { names, origin, handle, ...selection } of listeners)
      this.hub.subscribe(names, {
        origin,
        handle: (event) => (isMeant(selection, event) ? handle(event) : undefined),
      });
  }

  /** Loads the packages that the formats of the bindings need. Rejects if a package is missing. */
  async prepare({ enabled, bindings }: ResolvedOptions): Promise<void> {
    if (enabled === 'enabled') await this.#builder.formats.prepare(bindings);
  }

  /** Builds and registers every binding that has handlers. No broker is contacted yet. */
  assemble(
    options: ResolvedOptions,
    handlers: readonly HandlerDefinition[],
    failures: FailureParts = NO_FAILURE_PARTS,
    errorHandling: KafkaErrorHandlerOptions = {},
  ): void {
    const { runtime, logger } = this;
    this.#errorHandling = { ...exceptionDetailOf(options), ...definedEntries(errorHandling) };
    const clusters = new Clusters(options.clusters, runtime, logger);
    this.#settings.set({
      options,
      clusters,
      failures,
      handlers,
      factory: this.factory,
    });
    if (options.enabled !== 'enabled') return;
    clusters.requireCompressions();
    for (const registration of this.#buildAll(options, handlers))
      this.registry.register(registration);
    const published = options.bindings.filter(
      (binding) => handlersOf(binding, handlers).length === 0,
    );
    this.registry.setPublished(
      published.map(({ name, cluster, topic }) => ({ binding: name, cluster, topic })),
    );
  }

  /**
   * Skips bindings without handlers, which are not consumed. Throws once, with the errors of all
   * bindings.
   */
  #buildAll(
    { bindings }: ResolvedOptions,
    handlers: readonly HandlerDefinition[],
  ): readonly ContainerRegistration[] {
    const errors = new StartupErrors();
    const built = bindings.flatMap((binding) => {
      const own = handlersOf(binding, handlers);
      if (own.length === 0) return [];
      return errors.try(() => this.#builder.build(binding, own)) ?? [];
    });
    errors.throwIfAny();
    return built;
  }

  async start(): Promise<StartupReport> {
    const { options } = this.#settings;
    if (options) await this.fleet.begin(options.fleet);
    for (const binding of this.options?.bindings ?? [])
      if (!this.registry.get(binding)) this.#topics.request({ ...binding, isOnlyPublished: true });
    this.lag.start();
    return startBindings(this.registry, this.lifecycle, this.logger, (registration) =>
      this.fleet.isStopped(registration),
    );
  }

  /**
   * Closes producers and drivers. To be called after the drain, because requests that are still
   * being answered may publish until then.
   */
  async closeClusters(): Promise<void> {
    this.#topics.close();
    this.#tracer?.close();
    await this.fleet.close();
    await this.lag.close();
    await this.kafkaHealth.close();
    await this.replay.close();
    this.#builder.close();
    await this.#settings.closeClusters();
  }
}

/**
 * Chooses a cluster for the error handler, because a record does not name the cluster it came from.
 */
function clusterToWriteTo(aliases: readonly string[]): string {
  const [only = DEFAULT_CLUSTER, ...others] = aliases;
  if (others.length === 0) return only;
  if (aliases.includes(DEFAULT_CLUSTER)) return DEFAULT_CLUSTER;
  throw ownError(
    new Error(
      `Cannot choose a cluster to write to: there are ${aliases.join(', ')}. Name one in KAFKA_ERROR_HANDLER_OPTIONS: { cluster: '${only}' }.`,
    ),
  );
}

/** Drops keys without a value, so that they do not override the defaults. */
function definedEntries<T extends object>(options: T): T {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}

/**
 * Applies the `exceptionDetail` and `redact` of the defaults, so that KafkaErrorHandler writes no
 * detail that the bus would leave out.
 */
function exceptionDetailOf({ context }: ResolvedOptions): KafkaErrorHandlerOptions {
  const { dlt } = mergeLayers(context.defaults).values;
  const { exceptionDetail, redact } = (dlt ?? {}) as KafkaErrorHandlerOptions;
  return { exceptionDetail, redact };
}
