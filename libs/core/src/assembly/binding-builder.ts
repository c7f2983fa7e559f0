import { type DriverLogger, errorReasonOf, type ProducerSession } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { ConfigurationValidator } from '../config/validation/configuration-validator.js';
import {
  batchHandlerDefaults,
  rejectSingleListener,
} from '../config/reading/batch-handler-defaults.js';
import { resolveDraft, type BindingLayer } from '../config/resolving/resolve-binding.js';
import { Violations } from '../config/validation/violations.js';
import { handlersOf } from '../discovery/exploring/match-handlers.js';
import { HandlerNotFoundException } from '../errors/handler-errors.js';
import type { BindingSources } from '../config/resolving/resolved-options.js';
import { nestedOptions, RUNTIME_SOURCE, type RuntimeChanges } from '../config/runtime-keys.js';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import type { TopicBindingProperties } from '../config/properties/topic-binding-properties.js';
import { containerId } from '../containers/container-id.js';
import type { ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import { recordHandler } from '../discovery/calling/handler-functions.js';
import type { RecordProcessor } from '../model/outcomes/outcome.js';
import type { RecordHandler } from '../model/extension-points/record-handler.js';
import type { FailureGroup } from '../failures/log/failure-group.js';
import { FailureLog } from '../failures/log/failure-log.js';
import { BindingEvents } from '../events/binding-events.js';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import type { BindingEventSink, BindingObserver, EventSink } from '../model/events/event-sink.js';
import { BindingCounters } from '../observability/binding-counters.js';
import { createRecordPipeline } from '../pipeline/record-pipeline.js';
import { OutcomeWriter } from '../redrive/outcomes/outcome-writer.js';
import { OngoingProblems } from '../problems/ongoing-problems.js';
import { PayloadFormats } from '../pipeline/decoding/payload-formats.js';
import { logContext } from '../logging/mdc-context-propagator.js';
import { CircuitBreakerConfigFactory } from '../pipeline/resilience/circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from '../pipeline/resilience/sliding-circuit-breaker.js';
import { createSliceTransactions } from '../pipeline/transactions/create-slice-transactions.js';
import type { BusSettings } from './bus-settings.js';
import { FailureHandlingFactory } from './failure-handling-factory.js';

interface MadeBinding extends BindingSources {
  readonly handlers: readonly HandlerDefinition[];
}

/** Creates the containers of a binding, with the pipeline that calls its handlers. */
export class BindingBuilder {
  /** Failures that are counted, and not logged yet. */
  readonly #openGroups = new Set<FailureGroup>();
  /** What bindings were made of at run time. */
  readonly #made = new WeakMap<ResolvedBinding, MadeBinding>();

  constructor(
    private readonly settings: BusSettings,
    private readonly registry: ContainerRegistry,
    private readonly lifecycle: Pick<LifecycleManager, 'addPause'>,
    private readonly hub: EventSink,
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
    /** The formats of all bindings, which the publisher shares. */
    readonly formats = new PayloadFormats(runtime, logger),
    private readonly tracer: () => EventBusTracer | undefined = () => undefined,
  ) {}

  /** Returns where the options of a registered binding come from. */
  sourcesOf(binding: ResolvedBinding): BindingSources {
    const { options } = this.settings.require(`read the options of '${binding.name}'`);
    const { layers = [], settings = new Map() } =
      this.#made.get(binding) ?? options.sources.get(binding.name) ?? {};
    return { layers, settings };
  }

  /**
   * Resolves a binding again, with other values of an operator. The returned function builds it;
   * nothing is changed before.
   */
  async prepareChange(
    { config: before }: ContainerRegistration,
    changes: RuntimeChanges,
  ): Promise<() => ContainerRegistration> {
    const { name } = before;
    const { options } = this.settings.require(`change binding '${name}'`);
    const { handlers = handlersOf(before, this.settings.require('').handlers), layers } =
      this.#made.get(before) ?? { layers: this.sourcesOf(before).layers };
    const own = layers.filter(({ source }) => source !== RUNTIME_SOURCE);
    const properties = nestedOptions(changes) as BindingLayer['properties'];
    const all = [{ source: RUNTIME_SOURCE, path: 'changes', properties }, ...own];
    const { binding, ineffective, settings } = resolveDraft(name, all, options.context, []);
    for (const warning of ineffective) this.logger.warn(warning);
    await this.formats.prepare([binding]);
    return () => {
      this.#made.set(binding, { handlers, layers: all, settings });
      return this.build(binding, handlers);
    };
  }

  build(binding: ResolvedBinding, handlers: readonly HandlerDefinition[]): ContainerRegistration {
    const operation = `build binding '${binding.name}'`;
    const { options, clusters, factory, failures } = this.settings.require(operation);
    const { runtime, logger } = this;
    const breaker = this.#breakerOf(binding);
    const counters = options.metrics.enabled ? new BindingCounters() : undefined;
    const failureLog = new FailureLog({ binding, runtime, logger, openGroups: this.#openGroups });
    const observers = counters ? [counters, failureLog] : [failureLog];
    const events = this.#eventsOf(binding, breaker, observers);
    const pauseBinding = (exceptionClass: string): void => this.#pause(binding, exceptionClass);
    const problems = new OngoingProblems(runtime, logger);
    const failureHandling = new FailureHandlingFactory({
      ...failures,
      binding,
      breaker,
      events,
      clusters,
      pauseBinding,
      problems,
      runtime,
      logger,
    });
    const { deserializer, keyDeserializer } = this.formats.of(binding);
    const driver = clusters.driver(binding.cluster);
    const producer = (): ProducerSession => clusters.durableProducer(binding.cluster);
    const replayOutcomes = new OutcomeWriter({
      ...{ binding, problems, producer, runtime },
      driver: () => driver,
    });
    const pipelineOf = (tier?: ResolvedTier): RecordProcessor => {
      const groupId = tier?.groupId ?? binding.groupId;
      return createRecordPipeline({
        binding,
        handlers,
        deserializer,
        keyDeserializer,
        tier: tier?.number ?? 0,
        routing: failureHandling.routingOf(tier),
        // Shared by the main topic and the retry topics, because they call the same handler.
        breaker,
        replayOutcomes,
        problems,
        transactions: createSliceTransactions({ binding, groupId, driver, runtime, logger }),
        tracing: this.#tracingOf(binding, tier),
        logContext: options.logContext.enabled ? logContext : undefined,
        runtime,
        logger,
      });
    };
    return factory.create(binding, {
      driver,
      processor: pipelineOf(),
      tierProcessor: pipelineOf,
      circuitBreaker: breaker,
      problems,
      publishProblems: failureHandling.publishProblems,
      alerts: failureHandling.alerts,
      halfOpenBlocker: failureHandling.halfOpenBlocker,
      counts: counters,
      events,
    });
  }

  #tracingOf({ name, cluster, topic, groupId }: ResolvedBinding, tier: ResolvedTier | undefined) {
    const tracer = this.tracer();
    const id = containerId(name, tier?.number);
    const container = tier
      ? { topic: tier.topic, groupId: tier.groupId, tier: tier.number }
      : { topic, groupId, tier: 0 };
    return tracer && { tracer, container: { binding: name, cluster, clientId: id, ...container } };
  }

  /** Logs the counts of failures that are not logged yet. To be called after the drain. */
  close(): void {
    for (const group of this.#openGroups) group.close();
    this.#openGroups.clear();
  }

  #eventsOf(
    binding: ResolvedBinding,
    breaker: SlidingCircuitBreaker | undefined,
    observers: readonly BindingObserver[],
  ): BindingEventSink {
    const { hub, runtime, logger } = this;
    const events = new BindingEvents({ binding, observers, events: hub, runtime, logger });
    // The subscription has no end, because the breaker is dropped together with its binding.
    breaker?.onTransition(({ from, to, cause, figures }) => {
      const pausesBinding = breaker.automaticPauseOnOpen;
      events.emit('circuit.changed', { from, to, cause, figures, pausesBinding });
    });
    return events;
  }

  /**
   * Pauses the binding without waiting, because the command waits for any other running command.
   */
  #pause({ name, cluster }: ResolvedBinding, exceptionClass: string): void {
    const note = { reason: `a record failed with ${exceptionClass}`, by: 'exception-routing' };
    this.lifecycle.addPause({ name, cluster }, 'routing', note).catch((failure: unknown) =>
      this.logger.warn('A binding could not be paused', {
        binding: name,
        error: errorReasonOf(failure),
      }),
    );
  }

  #breakerOf(binding: ResolvedBinding): SlidingCircuitBreaker | undefined {
    const config = new CircuitBreakerConfigFactory().create(binding);
    return config && new SlidingCircuitBreaker(config, this.runtime, this.logger);
  }

  /** Checks a binding that is registered at run time by the same rules as a configured one. */
  prepareFrom(
    name: string,
    properties: TopicBindingProperties,
    handler: RecordHandler,
  ): Promise<() => ContainerRegistration> {
    const layers = [{ source: 'the registration', properties }];
    return this.#prepare(name, layers, () => [recordHandler(name, handler)]);
  }

  /** Like `prepareFrom`, with the `@EventHandler` methods that are declared for a binding. */
  async prepareDeclared(
    name: string,
    properties: TopicBindingProperties,
    declaredFor: string,
  ): Promise<() => ContainerRegistration> {
    const { handlers } = this.settings.require(`register binding '${name}'`);
    const declared = handlers.filter(({ binding }) => binding === declaredFor);
    const layers = [{ source: 'the registration', properties }];
    const batch = declared.find(({ form }) => form === 'slice');
    if (batch) layers.push(batchHandlerDefaults(batch.origin) as (typeof layers)[number]);
    const violations = new Violations();
    rejectSingleListener(name, layers, violations);
    violations.throwIfAny();
    return this.#prepare(name, layers, ({ cluster }) => {
      const found = handlersOf({ name: declaredFor, cluster }, declared);
      if (found.length > 0) return found.map((each) => ({ ...each, binding: name, cluster }));
      const known = [...new Set(handlers.map(({ binding }) => binding))];
      throw new HandlerNotFoundException(name, declaredFor, known);
    });
  }

  async #prepare(
    name: string,
    layers: readonly BindingLayer[],
    handlersFor: (binding: ResolvedBinding) => readonly HandlerDefinition[],
  ): Promise<() => ContainerRegistration> {
    const { options } = this.settings.require(`register binding '${name}'`);
    const others = (): ResolvedBinding[] => this.registry.listAll().map(({ config }) => config);
    const { binding, ineffective, settings } = resolveDraft(
      name,
      layers,
      options.context,
      others(),
    );
    const handlers = handlersFor(binding);
    for (const warning of ineffective) this.logger.warn(warning);
    await this.formats.prepare([binding]);
    return () => {
      new ConfigurationValidator(options.context).validate(binding, others());
      this.#made.set(binding, { handlers, layers, settings });
      return this.build(binding, handlers);
    };
  }
}
