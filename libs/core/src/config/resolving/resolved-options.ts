import type { BrokerDriver } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ErrorTypes } from '../error-matching/error-types.js';
import type {
  ClusterProducerProperties,
  IntakeProperties,
  MetricsProperties,
  ShutdownProperties,
  StartupProperties,
} from '../properties/event-bus-properties.js';
import type { PendingKey } from '../validation/key-register.js';
import type { UnusedKey } from '../reading/loaded-options.js';
import type { Layer } from '../reading/merge-layers.js';
import type { Resolved, ResolvedBinding } from './resolved-binding.js';

/** Without a driver, the Kafka driver is made from the rest. */
export interface ResolvedCluster {
  readonly alias: string;
  readonly driver: BrokerDriver | undefined;
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl: boolean | object;
  readonly sasl: object | undefined;
  readonly rackId: string | undefined;
  readonly metadataMaxAgeMs: number;
  /** Of what applications publish. */
  readonly producer: Resolved<ClusterProducerProperties>;
}

/** What a binding is resolved in, at start as well as later. */
export interface BindingContext {
  /** Below what the binding says itself, highest first. */
  readonly defaults: readonly Layer[];
  /** Which aliases exist; undefined where the bus is off and no cluster is looked at. */
  readonly clusters: readonly string[] | undefined;
  /** What names of errors stand for; undefined where that was given wrong, and no name is looked at. */
  readonly errorTypes: ErrorTypes | undefined;
  /** Whether a lifecycle manager is there that a circuit breaker can pause with. */
  readonly lifecycleManager: boolean;
}

export interface ResolvedOptions {
  /** `unconfigured`: `'if-configured'` was asked for and no brokers are given. */
  readonly enabled: 'enabled' | 'disabled' | 'unconfigured';
  readonly clusters: Readonly<Record<string, ResolvedCluster>>;
  readonly bindings: readonly ResolvedBinding[];
  readonly bindingsWithoutHandler: 'fail' | 'allow';
  readonly shutdown: Resolved<ShutdownProperties>;
  readonly startup: Resolved<StartupProperties>;
  readonly intake: Resolved<IntakeProperties>;
  readonly metrics: Resolved<MetricsProperties>;
  readonly runtime: Runtime | undefined;
  /** What a loader found and the event bus has no place for. To be warned of. */
  readonly unusedKeys: readonly UnusedKey[];
  /** What was asked for and does nothing in this version. To be warned of. */
  readonly pendingKeys: readonly PendingKey[];
  /** What has no effect because of something else that is said. To be warned of. */
  readonly ineffective: readonly string[];
  /** For `resolveBinding` of a binding that is registered later. */
  readonly context: BindingContext;
}
