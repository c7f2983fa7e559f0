import { type DriverLogger, errorReasonOf, type TopicPartition } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { NoRecordWaitsException } from '../../errors/container-errors.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import type { RecordKey } from '../../model/records/record-key.js';
import type { RecordHandler } from '../../model/extension-points/record-handler.js';
import type { ShutdownGate } from '../shutdown/shutdown-gate.js';
import { assertBindingName } from './binding-name.js';
import { warnOfFleetStop } from './start-bindings.js';
import { bindingNameOf, type BindingRef } from '../../model/states/binding-ref.js';
import type {
  AnyBindingName,
  CheckedBindingRef,
  DeclaredPayload,
  NameCheck,
} from '../../model/states/event-bus-bindings.js';
import {
  containersOf,
  snapshotOf,
  type BindingSnapshot,
  type ContainerRegistration,
} from '../container-registration.js';
import type { ContainerRegistry, PublishedBinding } from '../container-registry.js';
import { livenessOf, type Liveness } from '../health/liveness.js';
import { DISABLED, healthOf, type EventBusHealth } from '../health/event-bus-health.js';
import type { CommandNote, LifecycleManager } from './lifecycle-manager.js';
import type { MessageContainer } from '../message-container.js';

/**
 * Resolves and checks the properties, and loads the packages that they need. The returned function
 * checks them against the bindings that are registered by then, and builds the containers in one
 * synchronous step. Nothing is registered or started.
 */
export type BindingFactory = (
  name: string,
  properties: TopicBindingProperties,
  handler: RecordHandler,
) => Promise<() => ContainerRegistration>;

/** Does the same with the handlers that the application declares for the named binding. */
type DeclaredBindingFactory = (
  name: string,
  properties: TopicBindingProperties,
  declaredFor: string,
) => Promise<() => ContainerRegistration>;

/** How a binding is registered with handlers that exist. */
export interface DeclaredRegistration extends CommandNote {
  /**
   * The binding whose `@EventHandler` methods handle the records. Default: the name of the new
   * binding.
   */
  readonly handler?: string;
  readonly cluster?: string;
}

/** The record that a decision is about. */
export interface RecordToDecide extends TopicPartition {
  /**
   * Offset as health and the log show it. If omitted, the decision is about the record for which
   * the partition waits.
   */
  readonly offset?: number | bigint;
}

export interface ConnectorOptions {
  readonly prepareBinding: BindingFactory;
  readonly prepareDeclared: DeclaredBindingFactory;
  readonly registry: ContainerRegistry;
  readonly lifecycle: LifecycleManager;
  readonly shutdownGate: ShutdownGate;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
  /** Returns whether the fleet was told to stop the binding, so that it is not started. */
  readonly isStopped: (registration: ContainerRegistration) => boolean;
  /** Returns whether the options disable the bus. */
  readonly isDisabled: () => boolean;
}

/** Registers, controls and shows bindings while the application runs. */
export class EventBusConnector {
  constructor(private readonly options: ConnectorOptions) {}

  /**
   * Adds a binding, and starts it unless its `autoStartup` is false or the fleet was told to stop
   * it.
   */
  async register<T = unknown, Name extends AnyBindingName = string, K = RecordKey>(
    name: Name & NameCheck<Name>,
    properties: TopicBindingProperties,
    handler: RecordHandler<DeclaredPayload<Name, T>, K>,
    { cluster }: { readonly cluster?: string } = {},
  ): Promise<BindingSnapshot> {
    return this.#register(name, () =>
      this.options.prepareBinding(
        name,
        withCluster(name, properties, cluster),
        handler as RecordHandler,
      ),
    );
  }

  /**
   * Adds a binding whose records are handled by methods that are declared with `@EventHandler`, for
   * this binding or for another one. Starts it unless its `autoStartup` is false or the fleet was
   * told to stop it.
   */
  async registerDeclared(
    name: string,
    properties: TopicBindingProperties,
    { handler = name, cluster, ...note }: DeclaredRegistration = {},
  ): Promise<BindingSnapshot> {
    return this.#register(
      name,
      () => this.options.prepareDeclared(name, withCluster(name, properties, cluster), handler),
      note,
    );
  }

  /**
   * Stops a running binding and removes it. A binding that were removed without a stop could never
   * be stopped.
   */
  unregister<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.destroy(ref, { reason: 'unregistered', ...note });
  }

  start<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note?: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.start(ref, note);
  }

  stop<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note?: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.stop(ref, note);
  }

  pause<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note?: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.pause(ref, note);
  }

  resume<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note?: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.resume(ref, note);
  }

  destroy<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note?: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.options.lifecycle.destroy(ref, note);
  }

  /**
   * Decides about the record for which a partition waits (`strictExhaustion: 'PAUSE_PARTITION'`):
   * it is handed to its handler again, dead-lettered or skipped. With an offset, the decision
   * applies only to the record at that offset. That record may also be a failed one that waits for
   * its next attempt, or for its open circuit. A record that is to be dead-lettered or skipped is
   * not handed to its handler again.
   */
  async decide<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
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

  getState<Name extends AnyBindingName>(ref: CheckedBindingRef<Name>): BindingSnapshot {
    return snapshotOf(this.options.registry.require(ref));
  }

  listBindings(): readonly BindingSnapshot[] {
    return this.options.registry.listAll().map(snapshotOf);
  }

  /** Returns the bindings to which the application only publishes. They take no commands. */
  listPublishedBindings(): readonly PublishedBinding[] {
    return this.options.registry.listPublished();
  }

  health(): EventBusHealth {
    const { registry, shutdownGate, runtime, isDisabled } = this.options;
    if (isDisabled()) return DISABLED;
    return healthOf(registry.listAll(), !shutdownGate.isOpen, runtime.now());
  }

  async #register(
    name: string,
    prepare: () => Promise<() => ContainerRegistration>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    const { isStopped, logger, registry, shutdownGate } = this.options;
    assertBindingName(name);
    shutdownGate.assertOpen(`register binding '${name}'`);
    const build = await prepare();
    // The shutdown may have begun during the preparation.
    shutdownGate.assertOpen(`register binding '${name}'`);
    const registration = build();
    registry.register(registration);
    if (!registration.config.autoStartup) return snapshotOf(registration);
    if (isStopped(registration)) {
      warnOfFleetStop(logger, registration);
      return snapshotOf(registration);
    }
    return this.#startOrForget(registration, { reason: 'registered', ...note });
  }

  /** Says whether only a restart of the process helps. An outage of the brokers does not count. */
  liveness(): Liveness {
    const { registry, runtime } = this.options;
    return livenessOf(registry.listAll(), runtime.now());
  }

  /**
   * Removes a binding that could not start. An error of the removal is only logged, because the
   * caller needs the error of the start.
   */
  async #forget(ref: BindingRef): Promise<void> {
    try {
      await this.options.lifecycle.destroy(ref, { reason: 'could not start' });
    } catch (error) {
      this.options.logger.warn('A binding that could not start could not be destroyed either', {
        binding: bindingNameOf(ref),
        error: errorReasonOf(error),
      });
    }
  }

  /**
   * Starts a binding. If the start fails, the binding is removed, so that the caller can correct it
   * and register it again.
   */
  async #startOrForget(
    { cluster, bindingName: name }: ContainerRegistration,
    note: CommandNote,
  ): Promise<BindingSnapshot> {
    const ref = { cluster, name };
    try {
      return await this.options.lifecycle.start(ref, note);
    } catch (error) {
      await this.#forget(ref);
      throw error;
    }
  }
}

/** Returns the offset for which the partition waits, if that is not the named one. */
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
