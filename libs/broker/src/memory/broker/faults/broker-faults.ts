import type { TopicPartition } from '../../../port/record.js';
import type { MemoryCluster } from '../memory-cluster.js';
import { faultError, type Fault, type FaultError, type FaultLimit } from './fault-registry.js';
import { connectionLostError, ConnectionRefusedError } from '../network.js';
import type { Partition } from '../log/partition.js';
import { Refusal } from './refusal.js';
import { GROUP_OPERATIONS, type FaultMatch } from './request-scope.js';

/** What a test may order to go wrong. Every fault lasts for so many requests, or until it is lifted. */
export class BrokerFaults {
  constructor(private readonly cluster: MemoryCluster) {}

  /** The request has no effect and is answered with this error. */
  refuse(match: FaultMatch, error: FaultError, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'refuse', error }, limit);
  }

  /** The request has its effect, and then this error instead of its answer: a time-out after the write. */
  failAfter(match: FaultMatch, error: FaultError, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'fail-after', error }, limit);
  }

  /** The request has its effect; the client waits for the answer until its own time-out. */
  loseAnswers(match: FaultMatch, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'lose-answer' }, limit);
  }

  /** The request never arrives; the client waits for the answer until its own time-out. */
  loseRequests(match: FaultMatch, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'lose-request' }, limit);
  }

  /** The request arrives and has its effect this much later. */
  delayRequests(match: FaultMatch, milliseconds: number, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'delay-request', milliseconds }, limit);
  }

  /** The request has its effect at once; the answer comes this much later. */
  delayAnswers(match: FaultMatch, milliseconds: number, limit?: FaultLimit): Fault {
    return this.cluster.faults.add(match, { kind: 'delay-answer', milliseconds }, limit);
  }

  /** Breaks what is under way and refuses what comes, as a cut cable does. */
  unplug(match: FaultMatch): Fault {
    const fault = this.refuse(match, new ConnectionRefusedError());
    this.cluster.network.failPending(match, connectionLostError());
    return fault;
  }

  /** The group's heartbeats (or one member's) never arrive: the broker takes the member for dead. */
  dropHeartbeats(match: Pick<FaultMatch, 'groupId' | 'memberId' | 'clientId'>): Fault {
    return this.loseRequests({ ...match, operation: 'heartbeat' });
  }

  /** What happens to a member whose session runs out; it learns of it by its next request. */
  expireSession(groupId: string, memberId: string): void {
    this.cluster.groups.expel(groupId, memberId);
  }

  /** The group has no coordinator until this is lifted; joins that were held are answered so too. */
  loseCoordinator(groupId: string, limit?: FaultLimit): Fault {
    const match = { operation: GROUP_OPERATIONS, groupId };
    const fault = this.refuse(match, 'NOT_COORDINATOR', limit);
    this.cluster.network.failPending(match, faultError('NOT_COORDINATOR'));
    return fault;
  }

  /** The partition (or all of the topic) has no leader until this is lifted. */
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

  /** The next replica leads, in a new epoch; with one replica the same broker does. */
  moveLeader({ topic, partition }: TopicPartition): void {
    for (const each of this.#partitions(topic, partition)) {
      const next = each.replicas.indexOf(each.leader) + 1;
      setLeader(each, each.replicas[next % each.replicas.length] ?? each.leader);
    }
  }

  /** An unclean leader election: what was written from this offset on is gone. */
  truncate({ topic, partition }: TopicPartition, offset: number): void {
    for (const each of this.#partitions(topic, partition)) {
      each.log.truncate(offset);
      setLeader(each, each.leader);
    }
  }

  /** Breaks a byte in the batch that holds this offset. */
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
