import type { ClusterDescription, TopicDescription } from '../../port/admin.js';
import type { Runtime } from '../../runtime/index.js';
import { Coordinator, type CoordinatorOptions } from './groups/coordinator.js';
import { FaultRegistry } from './faults/fault-registry.js';
import { Network } from './network.js';
import { Topics, type Topic } from './log/topics.js';
import { Transactions } from './transactions/transactions.js';

export interface ClusterOptions extends CoordinatorOptions {
  readonly brokers: number;
  readonly defaultPartitions: number;
  readonly defaultReplicationFactor: number;
  readonly maxTransactionTimeoutMs: number;
  readonly latencyMs: () => number;
}

/**
 * The state that all drivers of one MemoryBroker share. Clients access it only through
 * `network.call`.
 */
export class MemoryCluster {
  readonly id: string;
  readonly faults = new FaultRegistry();
  readonly network: Network;
  readonly topics: Topics;
  readonly groups: Coordinator;
  readonly transactions: Transactions;

  constructor(
    readonly runtime: Runtime,
    private readonly options: ClusterOptions,
  ) {
    this.id = runtime.uuid();
    this.network = new Network(runtime, this.faults, options.latencyMs);
    this.topics = new Topics(runtime, {
      partitions: options.defaultPartitions,
      replicationFactor: options.defaultReplicationFactor,
      brokers: options.brokers,
    });
    this.groups = new Coordinator(this.topics, runtime, options);
    this.transactions = new Transactions(
      this.topics,
      this.groups,
      runtime,
      options.maxTransactionTimeoutMs,
    );
  }

  describe(): ClusterDescription {
    const brokers = Array.from({ length: this.options.brokers }, (_, index) => ({
      id: index + 1,
      host: 'memory',
      port: 9092 + index,
      rack: null,
    }));
    return { clusterId: this.id, controllerId: 1, brokers };
  }
}

export function describeTopic({ name, id, partitions }: Topic): TopicDescription {
  return {
    name,
    id,
    internal: false,
    partitions: partitions.map(({ index, leader, leaderEpoch, replicas }) => ({
      partition: index,
      leader,
      leaderEpoch,
      replicas,
      inSync: replicas,
    })),
  };
}
