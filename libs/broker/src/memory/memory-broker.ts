import { InvalidOptionError } from '../port/errors.js';
import { rejectUnknownKeys } from '../port/option-values.js';
import { realRuntime, type Runtime } from '../runtime/index.js';
import { BrokerFaults } from './broker/faults/broker-faults.js';
import { MemoryCluster, type ClusterOptions } from './broker/memory-cluster.js';

export interface MemoryBrokerOptions {
  /** Default: the real clock. With a VirtualRuntime every wait of broker and clients is virtual. */
  readonly runtime?: Runtime;
  /** The number of brokers of the cluster. Default 1. */
  readonly brokers?: number;
  /** The partition count of a topic that is created without one. Default 1. */
  readonly defaultPartitions?: number;
  /** Default 1. */
  readonly defaultReplicationFactor?: number;
  /** The round-trip time of a request. Default 0. */
  readonly latencyMs?: number | (() => number);
  /**
   * `group.min.session.timeout.ms`. Default 500, as on the test servers; stock brokers have 6000.
   */
  readonly minSessionTimeoutMs?: number;
  /** `group.max.session.timeout.ms`. Default 30 minutes. */
  readonly maxSessionTimeoutMs?: number;
  /**
   * `group.consumer.session.timeout.ms`. Default 1000, as on the test servers; stock brokers have
   * 45000.
   */
  readonly consumerSessionTimeoutMs?: number;
  /**
   * `group.consumer.heartbeat.interval.ms`. Default 300, as on the test servers; stock brokers have
   * 5000.
   */
  readonly consumerHeartbeatIntervalMs?: number;
  /**
   * `group.initial.rebalance.delay.ms`. Default 0, as on the test servers; stock brokers have 3000.
   */
  readonly initialRebalanceDelayMs?: number;
  /** `offset.metadata.max.bytes`, which counts UTF-16 units despite its name. Default 4096. */
  readonly offsetMetadataLimit?: number;
  /**
   * The retention time of offsets, counted from the moment when a group became empty. Default 7
   * days.
   */
  readonly offsetsRetentionMs?: number;
  /** `transaction.max.timeout.ms`. Default 15 minutes. */
  readonly maxTransactionTimeoutMs?: number;
}

const DEFAULTS = {
  brokers: 1,
  defaultPartitions: 1,
  defaultReplicationFactor: 1,
  latencyMs: 0,
  minSessionTimeoutMs: 500,
  maxSessionTimeoutMs: 30 * 60_000,
  consumerSessionTimeoutMs: 1_000,
  consumerHeartbeatIntervalMs: 300,
  initialRebalanceDelayMs: 0,
  offsetMetadataLimit: 4096,
  offsetsRetentionMs: 7 * 24 * 3_600_000,
  maxTransactionTimeoutMs: 15 * 60_000,
} as const;

/**
 * A Kafka cluster in this process. Each driver that is created with `memory({ broker })` acts as
 * the client of a separate process.
 */
export class MemoryBroker {
  readonly runtime: Runtime;
  /** Faults that a test can inject. */
  readonly faults: BrokerFaults;
  /**
   * The state of the cluster, for the drivers of this package.
   *
   * @internal
   */
  readonly cluster: MemoryCluster;

  constructor(options: MemoryBrokerOptions = {}) {
    rejectUnknownKeys('MemoryBroker', options, ['runtime', ...Object.keys(DEFAULTS)]);
    const { runtime = realRuntime, ...given } = options;
    this.runtime = runtime;
    this.cluster = new MemoryCluster(runtime, clusterOptions(given));
    this.faults = new BrokerFaults(this.cluster);
  }
}

function clusterOptions(given: Omit<MemoryBrokerOptions, 'runtime'>): ClusterOptions {
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  const options = { ...DEFAULTS, ...(Object.fromEntries(present) as typeof given) };
  const { latencyMs } = options;
  for (const [name, value] of Object.entries(options))
    if (typeof value !== 'function' && !(Number.isFinite(value) && value >= 0))
      throw new InvalidOptionError(
        `MemoryBroker.${name} must be a number of at least 0; got ${String(value)}.`,
      );
  return { ...options, latencyMs: typeof latencyMs === 'function' ? latencyMs : () => latencyMs };
}
