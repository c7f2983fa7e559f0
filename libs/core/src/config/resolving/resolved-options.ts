import type { BrokerDriver } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ErrorTypes } from '../error-matching/error-types.js';
import type {
  ClusterProducerProperties,
  ClusterProperties,
  IntakeProperties,
  LagProperties,
  LogContextProperties,
  MetricsProperties,
  ShutdownProperties,
  StartupProperties,
} from '../properties/event-bus-properties.js';
import type { UnusedKey } from '../reading/loaded-options.js';
import type { Layer } from '../reading/merge-layers.js';
import type { BindingLayer, BindingSetting } from './resolve-binding.js';
import type { Resolved, ResolvedBinding } from './resolved-binding.js';

/** A cluster. If it has no driver, the Kafka driver is created from the other options. */
export interface ResolvedCluster {
  readonly alias: string;
  readonly driver: BrokerDriver | undefined;
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl: NonNullable<ClusterProperties['ssl']>;
  readonly sasl: ClusterProperties['sasl'];
  readonly rackId: string | undefined;
  readonly metadataMaxAgeMs: number;
  /** Options of the producer for events that the application publishes. */
  readonly producer: Resolved<ClusterProducerProperties>;
}

/** How the processes of a group hear each other's commands. */
export interface ResolvedFleet {
  /** Undefined if commands reach this process only. */
  readonly controlTopic: string | undefined;
  readonly cluster: string;
  readonly provisioning: 'create' | 'verify';
  /** Undefined if the process is to choose its name. */
  readonly instance: string | undefined;
  readonly version: string;
  readonly pollIntervalMs: number;
  readonly reportIntervalMs: number;
}

/** Context in which bindings are resolved, at startup and at run time. */
export interface BindingContext {
  /** Layers below those of the binding itself, highest first. */
  readonly defaults: readonly Layer[];
  /** Aliases of the clusters; undefined if the bus is disabled, so that clusters are not checked. */
  readonly clusters: readonly string[] | undefined;
  /** Registered error classes; undefined if they are invalid, so that names of errors are not checked. */
  readonly errorTypes: ErrorTypes | undefined;
  /** True if there is a lifecycle manager, which a circuit breaker needs to pause a binding. */
  readonly lifecycleManager: boolean;
}

/** What a binding was resolved from. */
export interface BindingSources {
  readonly layers: readonly BindingLayer[];
  readonly settings: ReadonlyMap<string, BindingSetting>;
}

export interface ResolvedOptions {
  /** State of the bus. `unconfigured` means that `enabled` is `'if-configured'` and no brokers are given. */
  readonly enabled: 'enabled' | 'disabled' | 'unconfigured';
  readonly clusters: Readonly<Record<string, ResolvedCluster>>;
  readonly bindings: readonly ResolvedBinding[];
  /** Where the options of the bindings come from, by the names of the bindings. */
  readonly sources: ReadonlyMap<string, BindingSources>;
  readonly bindingsWithoutHandler: 'fail' | 'allow';
  readonly shutdown: Resolved<ShutdownProperties>;
  readonly startup: Resolved<StartupProperties>;
  readonly intake: Resolved<IntakeProperties>;
  readonly metrics: Resolved<MetricsProperties>;
  readonly logContext: Resolved<LogContextProperties>;
  readonly lag: Resolved<LagProperties>;
  readonly fleet: ResolvedFleet;
  readonly runtime: Runtime | undefined;
  /** Keys that a loader found and the event bus does not use. Logged as warnings. */
  readonly unusedKeys: readonly UnusedKey[];
  /** Warnings about options that have no effect because of other options. */
  readonly ineffective: readonly string[];
  /** Context for `resolveBinding` of a binding that is registered at run time. */
  readonly context: BindingContext;
}
