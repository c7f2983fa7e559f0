import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import type { Timer } from '@nest-event-bus/broker/runtime';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import { resolveOptions } from '../config/resolving/resolve-options.js';
import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import { Violations } from '../config/validation/violations.js';
import { markAsFound } from '../discovery/decorators/host-without-bus.js';
import { HandlerExplorer, type Discovered } from '../discovery/exploring/handler-explorer.js';
import { matchDltHandlers, matchHandlers } from '../discovery/exploring/match-handlers.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import {
  describeEarlyDestroyedDependency,
  findEarlyDestroyedDependencies,
  type EarlyDestroyedDependency,
} from './early-destroyed-dependencies.js';
import { EventBusKernel } from '../assembly/event-bus-kernel.js';
import { FeatureBindings } from './feature-bindings.js';
import { findConsumers, withConsumers } from './feature-consumer.js';
import { drainBeforeDestroy } from './host-hooks.js';
import { EVENT_BUS_OPTIONS } from './module-options.js';
import type { EventBusEvent } from '../model/events/event-bus-events.js';
import type { LagAlertHandler } from '../model/extension-points/lag-alert-handler.js';
import { readOptionalProviders, type OptionalProviders } from './optional-providers.js';
import {
  replaysWithoutSchedule,
  unusedDltHandlers,
  strategiesWithoutHandler,
  startWarnings,
  warnAboutMissingShutdownHooks,
} from '../assembly/start-warnings.js';
import { StartupErrors } from '../assembly/startup-errors.js';

interface Resolved {
  readonly options: ResolvedOptions;
  readonly parts: OptionalProviders;
}

/**
 * Connects the bus with the lifecycle hooks of the Nest application: validates, starts, drains and
 * closes the bus.
 */
@Injectable()
export class EventBusBootstrap
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  #hooksWarning: Timer | undefined;

  constructor(
    @Inject(EVENT_BUS_OPTIONS) private readonly options: EventBusProperties,
    @Inject(EventBusKernel) private readonly kernel: EventBusKernel,
    @Inject(HandlerExplorer) private readonly explorer: HandlerExplorer,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /**
   * Validates everything and builds the bindings. An error stops the start of the application
   * before any record is read.
   */
  async onModuleInit(): Promise<void> {
    this.#refuseSecondBus();
    const providers = this.discovery.getProviders();
    for (const { instance } of [...providers, ...this.discovery.getControllers()])
      markAsFound(instance);
    const consumers = findConsumers(providers);
    const discovered = withConsumers(this.explorer.explore(), consumers);
    const { options, parts } = this.#resolveOptions(discovered);
    const { dltHandlers, dltAlerts } = discovered;
    await this.kernel.prepare(options);
    this.kernel.listen(discovered.eventListeners);
    this.#passAlertsTo(parts.lagAlertHandler);
    const failures = { classifier: parts.classifier, dltHandlers, dltAlerts };
    this.kernel.trace(parts.tracer);
    this.kernel.assemble(options, discovered.handlers, failures, parts.errorHandling);
    if (options.enabled === 'enabled') this.#drainBefore(discovered);
    if (options.enabled === 'disabled') this.kernel.logger.info('The event bus is switched off.');
    for (const warning of [
      ...startWarnings(options),
      ...unusedDltHandlers(options, discovered),
      ...strategiesWithoutHandler(options, discovered),
      ...replaysWithoutSchedule(options, this.kernel.replaySchedule),
    ])
      this.kernel.logger.warn(warning);
  }

  /**
   * Starts the bindings. An unreachable broker does not delay the application: health shows the
   * state of each binding.
   */
  async onApplicationBootstrap(): Promise<void> {
    if (this.kernel.options?.enabled !== 'enabled') return;
    await this.kernel.start();
    this.#hooksWarning = warnAboutMissingShutdownHooks(this.kernel);
  }

  async onModuleDestroy(): Promise<void> {
    await this.#drain();
  }

  /**
   * Closes the producers in the last hook, because requests that are still being answered may
   * publish until then.
   */
  async onApplicationShutdown(): Promise<void> {
    await this.kernel.closeClusters();
  }

  #passAlertsTo(handler: LagAlertHandler | undefined): void {
    if (!handler) return;
    const origin = 'LAG_ALERT_HANDLER';
    const handle = (event: EventBusEvent): unknown =>
      event.name === 'lag.alert' ? handler.onLagAlert(event) : undefined;
    this.kernel.hub.subscribe(['lag.alert'], { origin, handle });
  }

  /**
   * Collects the errors of handlers, providers and options, so that one failed start reports all of
   * them.
   */
  #resolveOptions(discovered: Discovered): Resolved {
    const errors = new StartupErrors();
    errors.addProblems(discovered.problems);
    const violations = new Violations();
    const parts = readOptionalProviders(this.discovery.getProviders(), violations);
    errors.addViolations(violations.all);
    const options = errors.try(() => this.#resolve(discovered, parts));
    if (options?.enabled === 'enabled') errors.addProblems(mismatches(options, discovered));
    errors.throwIfAny();
    return { options: options!, parts };
  }

  #resolve({ handlers }: Discovered, { naming, classifier }: OptionalProviders): ResolvedOptions {
    const features = this.#instancesOf(FeatureBindings);
    for (const feature of features) feature.claim();
    return resolveOptions(this.options, {
      loaders: [{ defaults: { naming, classifier } }],
      features: features.map(({ options }) => ({ source: 'EventBusModule.forFeature', options })),
      handlers: handlers.map(({ binding, origin, form, properties }) => ({
        binding,
        source: origin,
        form,
        properties,
      })),
    });
  }

  #drain(): Promise<unknown> {
    this.#hooksWarning?.cancel();
    return this.kernel.shutdown.drain();
  }

  /**
   * Makes destroy hooks wait for the drain: the hooks of handler hosts, and hooks of dependencies
   * that Nest would call before them.
   */
  #drainBefore({ hosts, hostIds }: Discovered): void {
    const { logger } = this.kernel;
    const drain = (): Promise<unknown> => this.#drain();
    for (const { instance, module } of hosts) {
      if (drainBeforeDestroy(instance, drain)) continue;
      const name = instance.constructor.name;
      logger.warn(
        `${name} in ${module} is frozen: its dependencies may be closed before its handlers have ended. Do not freeze providers that hold handlers.`,
      );
    }
    // Frozen hosts are omitted, because their hooks cannot wait for the drain.
    const instances = hosts.map(({ instance }) => instance);
    const drains = instances.filter((host) => Object.isExtensible(host));
    for (const early of this.#findEarlyDestroyed(hostIds, [...drains, this])) {
      if (!drainBeforeDestroy(early.dependency.instance as object, drain))
        logger.warn(describeEarlyDestroyedDependency(early));
    }
  }

  #findEarlyDestroyed(
    hostIds: readonly string[],
    drains: readonly object[],
  ): readonly EarlyDestroyedDependency[] {
    const modules = [...this.modules.values()];
    const earlyDestroyed = findEarlyDestroyedDependencies({
      modules,
      components: modules.flatMap(({ providers, controllers, injectables }) => [
        ...providers.values(),
        ...controllers.values(),
        ...injectables.values(),
      ]),
      hosts: new Set(hostIds),
      drains: new Set(drains),
    });
    // Handlers may share a dependency, whose hook must wait only once.
    return [...new Map(earlyDestroyed.map((early) => [early.dependency.instance, early])).values()];
  }

  #refuseSecondBus(): void {
    if (this.#instancesOf(EventBusBootstrap).length < 2) return;
    const message =
      'EventBusModule.forRoot is imported twice. Import it once, in the root module, and add bindings elsewhere with EventBusModule.forFeature.';
    throw new ConfigurationValidationException([
      {
        rule: 'IMPORTED_TWICE',
        binding: undefined,
        path: 'EventBusModule',
        value: undefined,
        message,
      },
    ]);
  }

  #instancesOf<T extends object>(type: new (...args: never[]) => T): readonly T[] {
    const instances = this.discovery
      .getProviders()
      .flatMap(({ instance }) => (instance instanceof type ? [instance] : []));
    return [...new Set(instances)];
  }
}

function mismatches(
  { bindings, clusters, bindingsWithoutHandler }: ResolvedOptions,
  { handlers, dltHandlers, dltAlerts, problems }: Discovered,
): readonly string[] {
  // A handler with an error is not in the list, so its binding would be reported as one without a
  // handler.
  const withoutHandler = problems.length > 0 ? 'allow' : bindingsWithoutHandler;
  return [
    ...matchHandlers(bindings, handlers, { bindingsWithoutHandler: withoutHandler }),
    ...matchDltHandlers(bindings, Object.keys(clusters), [...dltHandlers, ...dltAlerts]),
  ];
}
