import type { BrokerDriver, ConsumerOptions, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding, ResolvedTier } from '../config/resolved-binding.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import type { IntakeFactory } from '../intake/intake.js';
import type { RecordProcessor } from '../model/outcome.js';
import type { CircuitBreaker } from '../model/circuit-breaker.js';
import { bindingKey } from '../model/binding-ref.js';
import { intakeSettings, mainConsumer, tierConsumer } from './consumer-settings.js';
import type { CircuitBreakerSlot, ContainerRegistration } from './container-registration.js';
import type { JoinSlots } from './join-slots.js';
import { MessageContainer } from './message-container.js';

export interface ContainerFactoryOptions {
  readonly createSession: IntakeFactory;
  readonly slots: JoinSlots;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** What a binding's containers are made of, besides its configuration. */
export type ContainerParts = {
  /** Of the binding's own cluster. */
  readonly driver: BrokerDriver;
  readonly processor: RecordProcessor;
  /** The one that its processors ask. */
  readonly circuitBreaker?: CircuitBreaker;
} & TierParts;

/** A tier's records must wait until they are due, so a tier has a processor of its own; who has none says so. */
export type TierParts =
  | { readonly tiers?: 'create'; readonly tierProcessor: (tier: ResolvedTier) => RecordProcessor }
  | { readonly tiers: 'omit' };

interface Blueprint {
  readonly id: string;
  readonly tier: number;
  readonly concurrency: number;
  readonly consumer: ConsumerOptions;
  readonly processor: RecordProcessor;
}

/** Builds the main container of a binding and those of its retry tiers. Nothing in here touches the broker. */
export class ContainerFactory {
  constructor(private readonly options: ContainerFactoryOptions) {}

  create(binding: ResolvedBinding, parts: ContainerParts): ContainerRegistration {
    refuseStaticMembership(binding);
    refuseAmbiguousCluster(binding);
    const circuitBreaker: CircuitBreakerSlot = Object.freeze({ current: parts.circuitBreaker });
    const build = (blueprint: Blueprint): MessageContainer =>
      this.#container(binding, parts.driver, circuitBreaker, blueprint);
    return Object.freeze({
      bindingName: binding.name,
      cluster: binding.cluster,
      key: bindingKey(binding.cluster, binding.name),
      config: binding,
      mainContainer: build(mainBlueprint(binding, parts.processor)),
      retryTierContainers: Object.freeze(tierBlueprints(binding, parts).map(build)),
      circuitBreaker,
      state: 'CREATED',
      since: this.options.runtime.now(),
      pauses: Object.freeze([]),
      lastCommand: undefined,
    });
  }

  #container(
    binding: ResolvedBinding,
    driver: BrokerDriver,
    circuitBreaker: CircuitBreakerSlot,
    { id, tier, concurrency, consumer, processor }: Blueprint,
  ): MessageContainer {
    const { createSession, slots, runtime, logger } = this.options;
    const settings = intakeSettings(binding);
    return new MessageContainer({
      id,
      topic: consumer.topics.join(','),
      groupId: consumer.groupId,
      tier,
      concurrency,
      circuitBreaker,
      slots,
      runtime,
      logger,
      openSession: (sessionIndex) =>
        createSession({
          containerId: id,
          sessionIndex,
          driver,
          consumer,
          settings,
          processor,
          runtime,
          logger,
        }),
    });
  }
}

function mainBlueprint(binding: ResolvedBinding, processor: RecordProcessor): Blueprint {
  return {
    id: `eventbus-${binding.name}`,
    tier: 0,
    concurrency: binding.concurrency,
    consumer: mainConsumer(binding),
    processor,
  };
}

function tierBlueprints(binding: ResolvedBinding, parts: ContainerParts): readonly Blueprint[] {
  if (parts.tiers === 'omit') return [];
  return binding.retry.tiers.map((tier) => ({
    id: `eventbus-${binding.name}-retry-${tier.number}`,
    tier: tier.number,
    concurrency: tier.concurrency,
    consumer: tierConsumer(binding, tier),
    processor: parts.tierProcessor(tier),
  }));
}

/** No driver sends a static member id yet: to accept the option would be to ignore it. */
function refuseStaticMembership({ name, staticMembership }: ResolvedBinding): void {
  if (staticMembership)
    refuse(
      'NOT_SUPPORTED',
      name,
      'staticMembership',
      staticMembership,
      'static membership is not supported yet: leave it out, or set it to false.',
    );
}

/** `a:b` with `c` and `a` with `b:c` would share a key. */
function refuseAmbiguousCluster({ name, cluster }: ResolvedBinding): void {
  if (cluster.includes(':'))
    refuse(
      'CLUSTER',
      name,
      'cluster',
      cluster,
      `a cluster's name has no ":" in it; call '${cluster}' something else.`,
    );
}

function refuse(
  rule: string,
  binding: string,
  key: string,
  value: unknown,
  message: string,
): never {
  const path = `bindings.${binding}.${key}`;
  throw new ConfigurationValidationException([{ rule, binding, path, value, message }]);
}
