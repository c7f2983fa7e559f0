import type { BrokerDriver, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { Admission } from '../container/admission.js';
import { CircuitBreakerLifecycleBridge } from '../container/circuit-breaker-lifecycle-bridge.js';
import { ContainerFactory } from '../container/container-factory.js';
import { ContainerRegistry } from '../container/container-registry.js';
import { EventBusConnector } from '../container/event-bus-connector.js';
import { JoinSlots } from '../container/join-slots.js';
import { LifecycleManager } from '../container/lifecycle-manager.js';
import { ShutdownCoordinator } from '../container/shutdown-coordinator.js';
import { startBindings, type StartupReport } from '../container/startup.js';
import { handlersOf } from '../discovery/match-handlers.js';
import type { HandlerDefinition } from '../discovery/handler-definition.js';
import { createIntakeSession } from '../intake/intake-session.js';
import { EventPublisher } from '../publisher/event-publisher.js';
import { BindingBuilder } from './binding-builder.js';
import { BusSettings } from './bus-settings.js';
import { Clusters } from './clusters.js';
import { publishTargets } from './publish-targets.js';
import { TopicChecks } from './topic-checks.js';

/** Where the pieces are put together. Each is a plain class that knows neither Nest nor how the others are made. */
export class EventBusKernel {
  readonly registry: ContainerRegistry;
  readonly lifecycle: LifecycleManager;
  readonly connector: EventBusConnector;
  readonly publisher: EventPublisher;
  readonly shutdown: ShutdownCoordinator;
  readonly #settings = new BusSettings();
  readonly #builder: BindingBuilder;

  constructor(
    readonly runtime: Runtime,
    readonly logger: DriverLogger,
  ) {
    const admission = new Admission();
    const registry = new ContainerRegistry(runtime, logger);
    const drainTimeoutMs = (): number =>
      (this.#settings.options ?? EVENTBUS_DEFAULTS).shutdown.drainTimeoutMs;
    const parts = { registry, admission, runtime, logger, drainTimeoutMs };
    const lifecycle = new LifecycleManager(parts);
    new CircuitBreakerLifecycleBridge({ registry, lifecycle, logger }).attach();
    const driverOf = (cluster: string): BrokerDriver =>
      this.#settings.require('look at topics').clusters.driver(cluster);
    new TopicChecks({ driverOf, runtime, logger }).attach(registry);
    const builder = new BindingBuilder(this.#settings, registry, runtime, logger);
    this.registry = registry;
    this.lifecycle = lifecycle;
    this.#builder = builder;
    this.connector = new EventBusConnector({
      ...parts,
      lifecycle,
      buildBinding: (...binding) => builder.buildFrom(...binding),
      isDisabled: () => (this.#settings.options?.enabled ?? 'enabled') !== 'enabled',
    });
    this.publisher = new EventPublisher(publishTargets(this.#settings, registry));
    this.shutdown = new ShutdownCoordinator({ ...parts, lifecycle });
  }

  /** undefined until the application is initialised. */
  get options(): ResolvedOptions | undefined {
    return this.#settings.options;
  }

  /** Builds and registers every binding. Nothing talks to a broker yet. */
  assemble(options: ResolvedOptions, handlers: readonly HandlerDefinition[]): void {
    const { runtime, logger } = this;
    const slots = new JoinSlots(runtime, options.startup.concurrency);
    this.#settings.settle({
      options,
      clusters: new Clusters(options.clusters, runtime, logger),
      factory: new ContainerFactory({ createSession: createIntakeSession, slots, runtime, logger }),
    });
    if (options.enabled !== 'enabled') return;
    for (const binding of options.bindings) {
      this.registry.register(this.#builder.build(binding, handlersOf(binding, handlers)));
    }
  }

  start(): Promise<StartupReport> {
    return startBindings(this.registry, this.lifecycle, this.logger);
  }

  /** After the drain, when nobody publishes any more. */
  closeClusters(): Promise<void> {
    return this.#settings.closeClusters();
  }
}
