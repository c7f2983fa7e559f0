import type { BrokerDriver } from '@nest-event-bus/broker';
import type { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ConsumingSessionFactory } from '../consuming/session/consuming-session.js';
import { BufferLimit } from '../consuming/lanes/buffer-limit.js';
import { AckMode } from '../model/states/ack-mode.js';
import { succeeded, type RecordProcessor } from '../model/outcomes/outcome.js';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import { ShutdownGate } from './shutdown/shutdown-gate.js';
import { ContainerFactory } from './container-factory.js';
import type { ContainerRegistration } from './container-registration.js';
import { ContainerRegistry } from './container-registry.js';
import { EventBusConnector, type ConnectorOptions } from './lifecycle/event-bus-connector.js';
import { noDriver, virtualTestBed } from './fake-sessions.spec-support.js';
import { JoinSlots } from './lifecycle/join-slots.js';
import { LifecycleManager } from './lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from './shutdown/shutdown-coordinator.js';

export const DRAIN_TIMEOUT_MS = 30_000;

export const processor: RecordProcessor = { process: () => succeeded };

export function tier(number: number, change: Partial<ResolvedTier> = {}): ResolvedTier {
  return {
    number,
    topic: `orders.events-retry-${number}`,
    groupId: `order-service-retry-${number}`,
    delayMs: 10_000,
    multiplier: 1,
    maxDelayMs: 3_600_000,
    maxAttempts: 3,
    topicSuffix: '-retry-{n}',
    concurrency: 1,
    ...change,
  };
}

/** Returns a resolved binding with the options that containers use. */
export function binding(
  name = 'orders',
  { tiers = [], ...change }: Partial<ResolvedBinding> & { tiers?: readonly ResolvedTier[] } = {},
): ResolvedBinding {
  return {
    name,
    topic: `${name}.events`,
    groupId: `${name}-service`,
    cluster: 'default',
    ackMode: AckMode.MANUAL_IMMEDIATE,
    concurrency: 1,
    maxPollRecords: 50,
    maxPollIntervalMs: 600_000,
    stuckHandlerMs: 300_000,
    listenerType: 'SINGLE',
    processing: { by: 'partition', maxConcurrency: 64 },
    commit: { strict: false },
    transactions: { enabled: false, idPrefix: 'eventbus-' },
    sessionTimeoutMs: 45_000,
    heartbeatIntervalMs: 10_000,
    pollTimeoutMs: 500,
    idleBetweenPollsMs: 0,
    autoStartup: true,
    staticMembership: false,
    groupInstanceId: '{binding}-{hostname}-{index}',
    offsetReset: 'earliest',
    groupProtocol: 'classic',
    assignmentStrategy: ['sticky'],
    rebalance: { drainTimeoutMs: 10_000 },
    retry: { tiers },
    ...change,
  } as unknown as ResolvedBinding;
}

interface BusOptions {
  readonly joinConcurrency?: number;
  /** Real sessions. If omitted, the sessions are fake and need no driver. */
  readonly real?: {
    readonly createSession: ConsumingSessionFactory;
    readonly driver: BrokerDriver;
    readonly runtime: VirtualRuntime;
  };
  readonly handle?: RecordProcessor;
  readonly isDisabled?: boolean;
}

/** Creates a whole bus in virtual time, with fake sessions unless `real` is given. */
export function busWith({
  joinConcurrency = 16,
  real,
  handle = processor,
  isDisabled = false,
}: BusOptions = {}) {
  const testBed = virtualTestBed(real?.runtime);
  const { runtime, logger, sessions } = testBed;
  const createSession = real?.createSession ?? sessions.create;
  const driver = real?.driver ?? noDriver;
  const registry = new ContainerRegistry(runtime, logger);
  const shutdownGate = new ShutdownGate();
  const slots = new JoinSlots(runtime, () => joinConcurrency);
  const bufferLimit = new BufferLimit(() => Infinity);
  const factory = new ContainerFactory({ createSession, slots, bufferLimit, runtime, logger });
  const shared = {
    registry,
    shutdownGate,
    runtime,
    logger,
    drainTimeoutMs: () => DRAIN_TIMEOUT_MS,
  };
  const lifecycle = new LifecycleManager(shared);
  const build = (resolved: ResolvedBinding): ContainerRegistration =>
    factory.create(resolved, { driver, processor: handle, tierProcessor: () => handle });
  const add = (resolved = binding()): ContainerRegistration => {
    registry.register(build(resolved));
    return registry.require({ cluster: resolved.cluster, name: resolved.name });
  };
  const prepareBinding: ConnectorOptions['prepareBinding'] = async (name, properties) => () =>
    build(binding(name, properties as Partial<ResolvedBinding>));
  const connector = new EventBusConnector({
    prepareBinding,
    prepareDeclared: (name, properties) => prepareBinding(name, properties, () => undefined),
    ...shared,
    lifecycle,
    isStopped: () => false,
    isDisabled: () => isDisabled,
  });
  const shutdown = new ShutdownCoordinator({ ...shared, lifecycle });
  return {
    ...testBed,
    registry,
    shutdownGate,
    factory,
    lifecycle,
    build,
    add,
    connector,
    shutdown,
  };
}
