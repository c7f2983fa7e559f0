import type { TopicPartition } from '../../../port/record.js';
import type { MemoryCluster } from '../memory-cluster.js';
import { faultError, type Fault, type FaultError, type FaultLimit } from './fault-registry.js';
import { connectionLostError, ConnectionRefusedError } from '../network.js';
import type { Partition } from '../log/partition.js';
import { Refusal } from './refusal.js';
import { GROUP_OPERATIONS, type FaultMatch } from './request-scope.js';

/**
 * The faults that a test can inject. Each one lasts for a number of requests, or until it is
 * lifted.
 */
export class BrokerFaults {
  constructor(private readonly cluster: MemoryCluster) {}

  /** Answers the request with this error, without executing it. */
  refuse(match: FaultMatch, error: FaultError, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'refuse', error }, limit);
  }

  /** Executes the request, and answers with this error: a timeout after the write, for example. */
  failAfter(match: FaultMatch, error: FaultError, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'fail-after', error }, limit);
  }

  /** Executes the request and drops the response; the client waits until its own timeout. */
  loseAnswers(match: FaultMatch, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'lose-answer' }, limit);
  }

  /** Drops the request; the client waits for a response until its own timeout. */
  loseRequests(match: FaultMatch, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'lose-request' }, limit);
  }

  /** Delays the arrival and the execution of the request. */
  delayRequests(match: FaultMatch, milliseconds: number, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'delay-request', milliseconds }, limit);
  }

  /** Executes the request at once and delays the response. */
  delayAnswers(match: FaultMatch, milliseconds: number, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'delay-answer', milliseconds }, limit);
  }

  /** Breaks pending requests and refuses new ones, as a lost network connection does. */
  unplug(match: FaultMatch): Fault {
    const fault = this.refuse(match, new ConnectionRefusedError());
    this.cluster.network.failPending(match, connectionLostError());
    return fault;
  }

  /**
   * Drops the heartbeats of the group or of one member, so that the broker removes the member after
   * its session timeout.
   */
  dropHeartbeats(match: Pick<FaultMatch, 'groupId' | 'memberId' | 'clientId'>): Fault {
    return this.loseRequests({ ...match, operation: 'heartbeat' });
  }

  /** Removes a member as if its session had timed out; the member notices at its next request. */
  expireSession(groupId: string, memberId: string): void {
    this.cluster.groups.expel(groupId, memberId);
  }

  /**
   * Takes the coordinator of the group away until the fault is lifted; waiting joins are answered
   * with the same error.
   */
  loseCoordinator(groupId: string, limit?: FaultLimit): Fault {
    const match = { operation: GROUP_OPERATIONS, groupId };
    const fault = this.refuse(match, 'NOT_COORDINATOR', limit);
    this.cluster.network.failPending(match, faultError('NOT_COORDINATOR'));
    return fault;
  }

  /** Takes the leader of the partition (or of all partitions) away until the fault is lifted. */
  loseLeader(topic: string, partition?: number): Fault {
    const partitions = this.#partitions(topic, partition);
    for (const each of partitions) setLeader(each, -1);
    return {
      hits: 0,
      lift: () => {
        for (const each of partitions) setLeader(each, each.replicas[0] ?? 1);
      },
    };
  }

  /** Moves the leader to the next replica, in a new epoch; a single replica stays the leader. */
  moveLeader({ topic, partition }: TopicPartition): void {
    for (const each of this.#partitions(topic, partition)) {
      const next = each.replicas.indexOf(each.leader) + 1;
      setLeader(each, each.replicas[next % each.replicas.length] ?? each.leader);
    }
  }

  /** Simulates an unclean leader election: all records from this offset on are lost. */
  truncate({ topic, partition }: TopicPartition, offset: number): void {
    for (const each of this.#partitions(topic, partition)) {
      each.log.truncate(offset);
      setLeader(each, each.leader);
    }
  }

  /** Changes a byte in the batch that contains this offset. */
  corrupt({ topic, partition }: TopicPartition, offset: number): void {
    for (const each of this.#partitions(topic, partition)) {
      const bytes = each.log.batchesFrom(offset)[0]?.bytes;
      if (bytes) bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 0xff, bytes.length - 1);
    }
  }

  #partitions(topic: string, partition?: number): readonly Partition[] {
    const { partitions } = this.cluster.topics.get(topic);
    if (partition === undefined) return partitions;
    const found = partitions[partition];
    if (!found)
      throw new Refusal(
        'UNKNOWN_TOPIC_OR_PARTITION',
        `topic "${topic}" has no partition ${partition}`,
      );
    return [found];
  }
}

function setLeader(partition: Partition, leader: number): void {
  if (leader >= 0) partition.leaderEpoch += 1;
  partition.leader = leader;
  partition.notifyWatchers();
}
