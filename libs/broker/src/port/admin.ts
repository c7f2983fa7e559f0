import type { CommittedOffset, Isolation, OffsetCommit } from './consumer.js';
import type { BrokerRecord, TopicPartition } from './record.js';

export interface BrokerNode {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

export interface ClusterDescription {
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly brokers: readonly BrokerNode[];
}

export interface PartitionDescription {
  readonly partition: number;
  /** Node id of the leader; -1 while the partition has none. */
  readonly leader: number;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

export interface TopicDescription {
  readonly name: string;
  readonly id: string | null;
  readonly internal: boolean;
  readonly partitions: readonly PartitionDescription[];
}

export interface NewTopic {
  readonly name: string;
  /** Default: the broker's. */
  readonly partitions?: number;
  /** Default: the broker's. */
  readonly replicationFactor?: number;
  readonly config?: Readonly<Record<string, string>>;
}

export interface Watermarks {
  readonly partition: number;
  /** The first offset still in the log. */
  readonly low: number;
  /** The offset of the next record to be written. */
  readonly high: number;
}

export interface OffsetAtTime {
  readonly partition: number;
  /** The offset of the first record at or after the timestamp; null when there is none. */
  readonly offset: number | null;
  readonly timestamp: number | null;
}

export interface GroupListing {
  readonly groupId: string;
  readonly protocolType: string;
}

export interface GroupMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly clientId: string;
  readonly host: string;
  readonly assignment: readonly TopicPartition[];
}

export interface GroupDescription {
  readonly groupId: string;
  readonly state:
    'Empty' | 'Stable' | 'PreparingRebalance' | 'CompletingRebalance' | 'Dead' | string;
  readonly protocol: string | null;
  readonly members: readonly GroupMember[];
}

export interface ReadRangeOptions {
  readonly signal?: AbortSignal;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
}

export interface TopicChange {
  readonly name: string;
  /** False if nothing had to be done: the topic existed already, or did not exist any more. */
  readonly changed: boolean;
}

export interface AdminSession {
  cluster(): Promise<ClusterDescription>;
  /** Describes the named topics, by default all. A name that does not exist is left out. */
  topics(names?: readonly string[]): Promise<readonly TopicDescription[]>;
  /**
   * Creates topics that do not exist; an existing topic is not changed. Resolves once every
   * partition has a leader.
   */
  createTopics(topics: readonly NewTopic[]): Promise<readonly TopicChange[]>;
  /** Increases the number of partitions to `total`. */
  createPartitions(topic: string, total: number): Promise<void>;
  deleteTopics(names: readonly string[]): Promise<readonly TopicChange[]>;
  topicConfig(topic: string): Promise<Readonly<Record<string, string | null>>>;
  /** Changes only the given entries; null restores the default. */
  alterTopicConfig(topic: string, changes: Readonly<Record<string, string | null>>): Promise<void>;

  watermarks(topic: string): Promise<readonly Watermarks[]>;
  offsetsAt(topic: string, timestamp: number): Promise<readonly OffsetAtTime[]>;
  /** Deletes all records before the given offsets; returns the new low watermarks. */
  deleteRecords(
    topic: string,
    before: readonly { readonly partition: number; readonly offset: number }[],
  ): Promise<readonly { readonly partition: number; readonly low: number }[]>;

  groups(): Promise<readonly GroupListing[]>;
  /** Describes a group. A group that does not exist is 'Dead' and has no members. */
  describeGroup(groupId: string): Promise<GroupDescription>;
  groupOffsets(
    groupId: string,
    topics?: readonly string[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]>;
  /** Sets offsets of a group. Rejects while the group has members. */
  setGroupOffsets(groupId: string, offsets: readonly OffsetCommit[]): Promise<void>;
  deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void>;
  /** Deletes a group. Rejects while the group has members. Returns whether the group existed. */
  deleteGroup(groupId: string): Promise<boolean>;

  /**
   * Reads the records with `from <= offset < to`, up to the end of the log at the time of the call.
   * Joins no group, commits nothing, and never waits for records that do not exist yet. Starts at
   * the low watermark if `from` is below it.
   */
  readRange(
    topic: string,
    partition: number,
    from: number,
    to: number,
    options?: ReadRangeOptions,
  ): AsyncIterable<BrokerRecord>;

  close(): Promise<void>;
}
