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
} from '../../../port/admin.js';
import type { CommittedOffset, OffsetCommit } from '../../../port/consumer.js';
import { ClosedError } from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import type { Connection } from '../connection.js';
import { AdminRequests } from './admin-requests.js';
import { GroupAdmin } from './group-admin.js';
import { LogAdmin } from './log-admin.js';
import { readRange } from './range-reader.js';
import { TopicAdmin } from './topic-admin.js';

/** Manages topics, logs and groups of a memory broker. */
export class MemoryAdmin implements AdminSession {
  readonly #closing = new AbortController();
  readonly #calls: AdminRequests;
  readonly #topics: TopicAdmin;
  readonly #logs: LogAdmin;
  readonly #groups: GroupAdmin;

  constructor(private readonly connection: Connection) {
    this.#calls = new AdminRequests(connection, this.#closing.signal);
    this.#topics = new TopicAdmin(this.#calls);
    this.#logs = new LogAdmin(this.#calls);
    this.#groups = new GroupAdmin(this.#calls);
  }

  cluster(): Promise<ClusterDescription> {
    return this.#calls.run({ operation: 'metadata' }, (cluster) => cluster.describe());
  }

  topics(names?: readonly string[]): Promise<readonly TopicDescription[]> {
    return this.#topics.describe(names);
  }

  createTopics(topics: readonly NewTopic[]): Promise<readonly TopicChange[]> {
    return this.#topics.create(topics);
  }

  createPartitions(topic: string, total: number): Promise<void> {
    return this.#topics.grow(topic, total);
  }

  deleteTopics(names: readonly string[]): Promise<readonly TopicChange[]> {
    return this.#topics.delete(names);
  }

  topicConfig(topic: string): Promise<Readonly<Record<string, string | null>>> {
    return this.#topics.config(topic);
  }

  alterTopicConfig(topic: string, changes: Readonly<Record<string, string | null>>): Promise<void> {
    return this.#topics.alterConfig(topic, changes);
  }

  watermarks(topic: string): Promise<readonly Watermarks[]> {
    return this.#logs.watermarks(topic);
  }

  offsetsAt(topic: string, timestamp: number): Promise<readonly OffsetAtTime[]> {
    return this.#logs.offsetsAt(topic, timestamp);
  }

  deleteRecords(
    topic: string,
    before: readonly { readonly partition: number; readonly offset: number }[],
  ): Promise<readonly { readonly partition: number; readonly low: number }[]> {
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
    return this.#groups.offsets(groupId, topics);
  }

  setGroupOffsets(groupId: string, offsets: readonly OffsetCommit[]): Promise<void> {
    return this.#groups.setOffsets(groupId, offsets);
  }

  deleteGroupOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    return this.#groups.deleteOffsets(groupId, partitions);
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
    return readRange(
      this.connection,
      { topic, partition, from, to, ...options },
      this.#closing.signal,
    );
  }

  close(): Promise<void> {
    this.#closing.abort(new ClosedError('This admin session was closed: make another one.'));
    return Promise.resolve();
  }
}
