import type {
  AdminSession,
  ClusterDescription,
  GroupDescription,
  GroupListing,
  NewTopic,
  OffsetAtTime,
  ReadRangeOptions,
  TopicChange,
  TopicDescription,
  Watermarks,
} from '../../port/admin.js';
import type { CommittedOffset, OffsetCommit } from '../../port/consumer.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import { metadataRequest, type ClusterClient } from '../../wire/index.js';
import { AdminCalls } from './admin-calls.js';
import { GroupOffsetsAdmin } from './group-offsets-admin.js';
import { GroupsAdmin } from './groups-admin.js';
import { LogsAdmin } from './logs-admin.js';
import { RangeReader } from './range-reader.js';
import type { DeleteBefore, NewLowWatermark } from './delete-records.js';
import { TopicConfigAdmin } from './topic-config-admin.js';
import { TopicsAdmin } from './topics-admin.js';

export interface KafkaAdminOptions {
  readonly cluster: ClusterClient;
  readonly sessionId: string;
  onClosed?(): void;
}

/**
 * The admin session for topics, logs and groups of a cluster. Delegates to one class per kind of
 * resource.
 */
export class KafkaAdmin implements AdminSession {
  readonly #calls: AdminCalls;
  readonly #topics: TopicsAdmin;
  readonly #configs: TopicConfigAdmin;
  readonly #logs: LogsAdmin;
  readonly #groups: GroupsAdmin;
  readonly #offsets: GroupOffsetsAdmin;
  readonly #onClosed: (() => void) | undefined;
  #ranges = 0;

  constructor({ cluster, sessionId, onClosed }: KafkaAdminOptions) {
    this.#onClosed = onClosed;
    this.#calls = new AdminCalls(cluster, sessionId);
    this.#topics = new TopicsAdmin(this.#calls);
    this.#configs = new TopicConfigAdmin(this.#calls);
    this.#logs = new LogsAdmin(this.#calls);
    this.#groups = new GroupsAdmin(this.#calls);
    this.#offsets = new GroupOffsetsAdmin(this.#calls);
  }

  cluster(): Promise<ClusterDescription> {
    return this.#calls.run('Describing the cluster', (call) =>
      call.repeat(async () => {
        const answer = await call.request('any', metadataRequest([]));
        const { clusterId, controllerId, brokers } = answer;
        return { clusterId, controllerId, brokers };
      }),
    );
  }

  topics(names?: readonly string[]): Promise<readonly TopicDescription[]> {
    return this.#topics.describe(names);
  }

  createTopics(topics: readonly NewTopic[]): Promise<readonly TopicChange[]> {
    return this.#topics.create(topics);
  }

  createPartitions(topic: string, total: number): Promise<void> {
    return this.#topics.createPartitions(topic, total);
  }

  deleteTopics(names: readonly string[]): Promise<readonly TopicChange[]> {
    return this.#topics.delete(names);
  }

  topicConfig(topic: string): Promise<Readonly<Record<string, string | null>>> {
    return this.#configs.describe(topic);
  }

  alterTopicConfig(topic: string, changes: Readonly<Record<string, string | null>>): Promise<void> {
    return this.#configs.alter(topic, changes);
  }

  watermarks(topic: string): Promise<readonly Watermarks[]> {
    return this.#logs.watermarks(topic);
  }

  offsetsAt(topic: string, timestamp: number): Promise<readonly OffsetAtTime[]> {
    return this.#logs.offsetsAt(topic, timestamp);
  }

  deleteRecords(
    topic: string,
    before: readonly DeleteBefore[],
  ): Promise<readonly NewLowWatermark[]> {
    return this.#logs.deleteRecords(topic, before);
  }

  groups(): Promise<readonly GroupListing[]> {
    return this.#groups.list();
  }

  describeGroup(groupId: string): Promise<GroupDescription> {
    return this.#groups.describe(groupId);
  }

  groupOffsets(
    groupId: string,
    topics?: readonly string[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    return this.#offsets.read(groupId, topics);
  }

  setGroupOffsets(groupId: string, offsets: readonly OffsetCommit[]): Promise<void> {
    return this.#offsets.set(groupId, offsets);
  }

  deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    return this.#offsets.delete(groupId, partitions);
  }

  deleteGroup(groupId: string): Promise<boolean> {
    return this.#groups.delete(groupId);
  }

  readRange(
    topic: string,
    partition: number,
    from: number,
    to: number,
    options: ReadRangeOptions = {},
  ): AsyncIterable<BrokerRecord> {
    const channel = `range:${this.#calls.sessionId}:${++this.#ranges}`;
    return new RangeReader(this.#calls, { topic, partition, from, to, ...options }, channel).read();
  }

  close(): Promise<void> {
    this.#calls.close();
    this.#onClosed?.();
    return Promise.resolve();
  }
}
