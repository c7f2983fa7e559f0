import type { DriverLogger, TopicPartition } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import { asError } from '../../errors/as-error.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { NoRecordWaitsException } from '../../errors/container-errors.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import type { RecordHandler } from '../../model/extension-points/record-handler.js';
import type { ShutdownGate } from '../shutdown/shutdown-gate.js';
import { assertBindingName } from './binding-name.js';
import { bindingNameOf, type BindingRef } from '../../model/states/binding-ref.js';
import {
  containersOf,
  snapshotOf,
  type BindingSnapshot,
  type ContainerRegistration,
} from '../container-registration.js';
import type { ContainerRegistry } from '../container-registry.js';
import { DISABLED, healthOf, type EventBusHealth } from '../health/event-bus-health.js';
import type { CommandNote, LifecycleManager } from './lifecycle-manager.js';
import type { MessageContainer } from '../message-container.js';

/**
 * Resolves and checks the properties, and loads the packages they need. The returned function
 * checks them against the bindings registered by then and builds the containers, in one synchronous
 * step. Nothing is registered or started.
 */
export type BindingFactory = (
  name: string,
  properties: TopicBindingProperties,
  handler: RecordHandler,
) => Promise<() => ContainerRegistration>;

/** The record that a decision is about. */
export interface RecordToDecide extends TopicPartition {
  /**
   * Offset as health and the log show it. If left out, the record of the partition that waits for a
   * decision is meant.
   */
  readonly offset?: number | bigint;
}

export interface ConnectorOptions {
  readonly prepareBinding: BindingFactory;
  readonly registry: ContainerRegistry;
  readonly lifecycle: LifecycleManager;
  readonly shutdownGate: ShutdownGate;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
  /** Returns whether the options switch the bus off. */
  readonly isDisabled: () => boolean;
}

/** Adds, removes, commands and shows bindings while the application runs. */
export class EventBusConnector {
  constructor(private readonly options: ConnectorOptions) {}

  /** Adds a binding, and starts it unless its `autoStartup` is false. */
  async register<T>(
    name: string,
    properties: TopicBindingProperties,
    handler: RecordHandler<T>,
    { cluster }: { readonly cluster?: string } = {},
  ): Promise<BindingSnapshot> {
    const { shutdownGate, prepareBinding, registry, lifecycle } = this.options;
    assertBindingName(name);
    shutdownGate.assertOpen(`register binding '${name}'`);
    const build = await prepareBinding(
      name,
      withCluster(name, properties, cluster),
      handler as RecordHandler,
    );
    // The shutdown may have begun during the preparation.
    shutdownGate.assertOpen(`register binding '${name}'`);
    const registration = build();
    registry.register(registration);
    if (!registration.config.autoStartup) return snapshotOf(registration);
    return this.#startOrForget(registration, lifecycle);
  }

  /**
   * Stops a running binding and forgets it. A binding that was only forgotten could never be
   * stopped.
   */
  unregister(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.options.lifecycle.destroy(ref, { reason: 'unregistered', ...note });
  }

  start(ref: BindingRef, note?: CommandNote): Promise<BindingSnapshot> {
    return this.options.lifecycle.start(ref, note);
  }

  stop(ref: BindingRef, note?: CommandNote): Promise<BindingSnapshot> {
    return this.options.lifecycle.stop(ref, note);
  }

  pause(ref: BindingRef, note?: CommandNote): Promise<BindingSnapshot> {
    return this.options.lifecycle.pause(ref, note);
  }

  resume(ref: BindingRef, note?: CommandNote): Promise<BindingSnapshot> {
    return this.options.lifecycle.resume(ref, note);
  }

  destroy(ref: BindingRef, note?: CommandNote): Promise<BindingSnapshot> {
    return this.options.lifecycle.destroy(ref, note);
  }

  /**
   * Decides about the record that a partition waits for (`strictExhaustion: 'PAUSE_PARTITION'`): it
   * is handed to its handler again, dead-lettered or skipped. With an offset, the decision applies
   * to no other record. Then it may also be a record that failed and waits for its next attempt,
   * while it holds its partition or its circuit is open. A record to be dead-lettered or skipped
   * leaves at its next delivery, without a call of its handler.
   */
  async decide(
    ref: BindingRef,
    { topic, partition, offset }: RecordToDecide,
    decision: Decision,
    { reason, by }: CommandNote = {},
  ): Promise<BindingSnapshot> {
    const { registry, logger } = this.options;
    const registration = registry.require(ref);
    const { bindingName: binding } = registration;
    const named = offset === undefined ? {} : { offset: Number(offset) };
    const place: DecisionPlace = { topic, partition, ...named };
    const containers = containersOf(registration);
    if (!containers.some((each) => each.decide(place, decision)))
      throw new NoRecordWaitsException(binding, place, otherUndecidedOffset(place, containers));
    logger.info('A record that waited was decided about', {
      binding,
      ...place,
      decision,
      reason,
      by,
    });
    return snapshotOf(registration);
  }

  getState(ref: BindingRef): BindingSnapshot {
    return snapshotOf(this.options.registry.require(ref));
  }

  listBindings(): readonly BindingSnapshot[] {
    return this.options.registry.listAll().map(snapshotOf);
  }

  health(): EventBusHealth {
    const { registry, shutdownGate, runtime, isDisabled } = this.options;
    if (isDisabled()) return DISABLED;
    return healthOf(registry.listAll(), !shutdownGate.isOpen, runtime.now());
  }

  /** The caller needs the error of the start, so an error of the clean-up is only logged. */
  async #forget(ref: BindingRef): Promise<void> {
    try {
      await this.options.lifecycle.destroy(ref, { reason: 'could not start' });
    } catch (error) {
      this.options.logger.warn('A binding that could not start could not be destroyed either', {
        binding: bindingNameOf(ref),
        error: asError(error).message,
      });
    }
  }

  /**
   * Removes a binding that could not start, so that the caller can correct and register it again.
   */
  async #startOrForget(
    { cluster, bindingName: name }: ContainerRegistration,
    lifecycle: LifecycleManager,
  ): Promise<BindingSnapshot> {
    const ref = { cluster, name };
    try {
      return await lifecycle.start(ref, { reason: 'registered' });
    } catch (error) {
      await this.#forget(ref);
      throw error;
    }
  }
}

/** Returns the offset of the record that waits instead of the named one. */
function otherUndecidedOffset(
  { topic, partition, offset }: DecisionPlace,
  containers: readonly MessageContainer[],
): number | undefined {
  if (offset === undefined) return undefined;
  const pause = containers
    .flatMap(({ status }) => status.partitionPauses)
    .find((each) => each.topic === topic && each.partition === partition);
  return offset === pause?.undecidedOffset ? undefined : pause?.undecidedOffset;
}

function withCluster(
  name: string,
  properties: TopicBindingProperties,
  cluster: string | undefined,
): TopicBindingProperties {
  if (cluster === undefined || cluster === properties.cluster) return properties;
  if (properties.cluster === undefined) {
    const given: object = properties;
    return { ...given, cluster } as TopicBindingProperties;
  }
  throw new ConfigurationValidationException([
    {
      rule: 'CLUSTER',
      binding: name,
      path: `bindings.${name}.cluster`,
      value: properties.cluster,
      message: `the properties name cluster '${properties.cluster}', the options '${cluster}'. Name one of them, once.`,
    },
  ]);
}
