import type { BrokerDriver, ConsumerOptions, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import type {
  ConsumingSessionFactory,
  SessionTracing,
} from '../consuming/session/consuming-session.js';
import type { BufferLimit } from '../consuming/lanes/buffer-limit.js';
import { ContainerMeasures } from '../consuming/measures/container-measures.js';
import { LingeringHandlers } from '../consuming/session/lingering-handlers.js';
import type { RecordProcessor } from '../model/outcomes/outcome.js';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import type { PendingAlerts } from '../model/states/pending-alerts.js';
import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker } from '../model/states/circuit-breaker.js';
import { OngoingProblems } from '../problems/ongoing-problems.js';
import type { PublishProblems } from '../model/outcomes/publish-problems.js';
import type { HalfOpenBlocker } from '../model/states/half-open-blocker.js';
import { NO_EVENTS, type BindingEventSink } from '../model/events/event-sink.js';
import { bindingKey } from '../model/states/binding-ref.js';
import { driverRequirementViolations } from './driver-requirements.js';
import { consumingSettings, mainConsumer, tierConsumer } from './consumer-settings.js';
import { containerId } from './container-id.js';
import type { CircuitBreakerSlot, ContainerRegistration } from './container-registration.js';
import type { JoinSlots } from './lifecycle/join-slots.js';
import { ConnectionWatch } from './health/connection-watch.js';
import { SessionEvents } from './session-events.js';
import { MessageContainer } from './message-container.js';
import { staticMemberId, staticMemberWarning } from './lifecycle/static-members.js';

export interface ContainerFactoryOptions {
  readonly createSession: ConsumingSessionFactory;
  readonly slots: JoinSlots;
  /** Buffer limit, which the lanes of all containers share. */
  readonly bufferLimit: BufferLimit;
  /** Returns the tracer of the application; undefined if nothing is traced. */
  readonly tracer?: () => EventBusTracer | undefined;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Parts of a binding's containers, besides its configuration. */
export type ContainerParts = {
  /** Driver of the binding's cluster. */
  readonly driver: BrokerDriver;
  readonly processor: RecordProcessor;
  /** The circuit breaker that the processors of the binding use. */
  readonly circuitBreaker?: CircuitBreaker;
  /** Errors of the topics that failed records are written to. */
  readonly publishProblems?: PublishProblems;
  /** Lasting problems of the binding. If omitted, only those of its containers are reported. */
  readonly problems?: OngoingProblems;
  /** Running alerts of the binding's dead letters. */
  readonly alerts?: PendingAlerts;
  /** The record that uses all half-open calls of the circuit. */
  readonly halfOpenBlocker?: HalfOpenBlocker | undefined;
  readonly counts?: BindingCounts;
  /** Takes the events of the binding. */
  readonly events?: BindingEventSink;
} & TierParts;

/**
 * Processors of the retry tiers. A tier has its own processor, because its records wait until they
 * are due. `'omit'` says explicitly that there are no tiers.
 */
export type TierParts =
  | { readonly tiers?: 'create'; readonly tierProcessor: (tier: ResolvedTier) => RecordProcessor }
  | { readonly tiers: 'omit' };

interface ContainerSpec {
  readonly id: string;
  readonly tier: number;
  readonly concurrency: number;
  readonly consumer: ConsumerOptions;
  readonly processor: RecordProcessor;
}

/** Parts that the containers of a binding share. */
interface SharedParts {
  readonly driver: BrokerDriver;
  readonly circuitBreaker: CircuitBreakerSlot;
  readonly problems: OngoingProblems;
  readonly events: BindingEventSink;
  readonly isMeasured: boolean;
}

/**
 * Builds the main container of a binding and those of its retry tiers, without contacting a broker.
 */
export class ContainerFactory {
  readonly #lingering = new LingeringHandlers();

  constructor(private readonly options: ContainerFactoryOptions) {}

  create(binding: ResolvedBinding, parts: ContainerParts): ContainerRegistration {
    const violations = driverRequirementViolations({ binding, ...parts });
    if (violations.length > 0) throw new ConfigurationValidationException(violations);
    const { runtime, logger } = this.options;
    const warning = staticMemberWarning(binding, runtime.hostname());
    if (warning) logger.warn(warning);
    const problems = parts.problems ?? new OngoingProblems(runtime, logger);
    const circuitBreaker: CircuitBreakerSlot = Object.freeze({ current: parts.circuitBreaker });
    const { driver, events = NO_EVENTS } = parts;
    const build = (blueprint: ContainerSpec): MessageContainer =>
      this.#container(
        binding,
        { driver, circuitBreaker, problems, events, isMeasured: parts.counts !== undefined },
        blueprint,
      );
    return Object.freeze({
      bindingName: binding.name,
      cluster: binding.cluster,
      key: bindingKey(binding.cluster, binding.name),
      config: binding,
      mainContainer: build(mainSpec(binding, parts.processor)),
      retryTierContainers: Object.freeze(tierSpecs(binding, parts).map(build)),
      circuitBreaker,
      publishProblems: parts.publishProblems,
      problems,
      alerts: parts.alerts,
      halfOpenBlocker: parts.halfOpenBlocker,
      counts: parts.counts,
      state: 'CREATED',
      since: this.options.runtime.now(),
      pauses: Object.freeze([]),
      lastCommand: undefined,
      startFailure: undefined,
    });
  }

  #container(
    binding: ResolvedBinding,
    { driver, circuitBreaker, problems, events, isMeasured }: SharedParts,
    { id, tier, concurrency, consumer, processor }: ContainerSpec,
  ): MessageContainer {
    const { createSession, slots, bufferLimit, runtime, logger } = this.options;
    const settings = consumingSettings(binding);
    const connection = new ConnectionWatch(
      { binding, id, tier, topics: consumer.topics },
      problems,
    );
    const lingering = this.#lingering.within(`${binding.cluster} ${consumer.groupId}`);
    const measures = isMeasured ? new ContainerMeasures(tier) : undefined;
    const tracing = this.#tracingOf(binding, id, tier, consumer);
    return new MessageContainer({
      binding: binding.name,
      id,
      topic: consumer.topics.join(','),
      groupId: consumer.groupId,
      tier,
      concurrency,
      circuitBreaker,
      slots,
      measures,
      runtime,
      logger,
      openSession: (sessionIndex) => {
        const session = `${id}-${sessionIndex}`;
        const { groupId } = consumer;
        const sessionEvents = new SessionEvents({ session, groupId, tier }, events, runtime);
        return createSession({
          containerId: id,
          sessionIndex,
          driver,
          consumer: { ...memberOptions(consumer, binding, runtime, sessionIndex), clientId: id },
          settings,
          processor,
          lingering,
          bufferLimit,
          measures,
          tracing,
          // Only the bus writes to a retry topic, and its records exist nowhere else, so a
          // recreated one is read from its beginning.
          onTopicRecreated: tier > 0 ? 'earliest' : binding.onTopicRecreated,
          partitions: sessionEvents,
          onState: (state) => {
            connection.update(sessionIndex, state);
            sessionEvents.update(state);
          },
          runtime,
          logger,
        });
      },
    });
  }

  #tracingOf(
    { name, cluster }: ResolvedBinding,
    clientId: string,
    tier: number,
    { topics, groupId }: ConsumerOptions,
  ): SessionTracing | undefined {
    const tracer = this.options.tracer?.();
    const topic = topics.join(',');
    return (
      tracer && { tracer, container: { binding: name, cluster, topic, groupId, tier, clientId } }
    );
  }
}

/** Gives each static member its own id. */
function memberOptions(
  consumer: ConsumerOptions,
  binding: ResolvedBinding,
  runtime: Pick<Runtime, 'hostname'>,
  index: number,
): ConsumerOptions {
  const groupInstanceId = staticMemberId(binding, runtime.hostname(), index);
  return groupInstanceId === undefined ? consumer : { ...consumer, groupInstanceId };
}

function mainSpec(binding: ResolvedBinding, processor: RecordProcessor): ContainerSpec {
  return {
    id: containerId(binding.name),
    tier: 0,
    concurrency: binding.concurrency,
    consumer: mainConsumer(binding),
    processor,
  };
}

function tierSpecs(binding: ResolvedBinding, parts: ContainerParts): readonly ContainerSpec[] {
  if (parts.tiers === 'omit') return [];
  return binding.retry.tiers.map((tier) => ({
    id: containerId(binding.name, tier.number),
    tier: tier.number,
    concurrency: tier.concurrency,
    consumer: tierConsumer(binding, tier),
    processor: parts.tierProcessor(tier),
  }));
}
