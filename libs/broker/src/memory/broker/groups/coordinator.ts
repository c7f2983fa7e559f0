import type { GroupListing } from '../../../port/admin.js';
import type { OffsetCommit } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import type { Runtime } from '../../../runtime/index.js';
import { ConsumerGroup, type ConsumerGroupOptions } from './consumer-group.js';
import type { ConsumerHeartbeatResponse, ConsumerHeartbeatRequest } from './consumer-member.js';
import { ClassicGroup, type GroupState } from './classic-group.js';
import type { JoinResponse, JoinRequest } from './classic-member.js';
import { OffsetStore, type StoredOffset } from './offset-store.js';
import { Refusal } from '../faults/refusal.js';
import type { Topics } from '../log/topics.js';

export interface CoordinatorOptions extends ConsumerGroupOptions {
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  readonly initialRebalanceDelayMs: number;
  /** The maximum length in UTF-16 units, which is what brokers count. */
  readonly offsetMetadataLimit: number;
  /** The retention time, counted from when the group became empty. */
  readonly offsetsRetentionMs: number;
}

export interface MemberIdentity {
  readonly groupId: string;
  readonly memberId: string;
  readonly generation: number;
  /** The id of a static member. */
  readonly groupInstanceId?: string | null;
}

export interface RefusedPartition {
  readonly partition: TopicPartition;
  readonly refusal: Refusal;
}

export interface DescribedGroup {
  readonly state: GroupState | 'Reconciling' | 'Dead';
  readonly protocol: string | null;
  readonly members: readonly {
    readonly memberId: string;
    readonly clientId: string;
    readonly host: string;
    readonly assignment: Buffer;
  }[];
}

export type OffsetResult =
  | { readonly kind: 'committed'; readonly offset: StoredOffset }
  | { readonly kind: 'none'; readonly partition: TopicPartition }
  | { readonly kind: 'unstable'; readonly partition: TopicPartition };

interface GroupEntry {
  /** A group has members of one protocol only: this broker does not migrate groups. */
  readonly classic: ClassicGroup;
  readonly consumer: ConsumerGroup;
  readonly offsets: OffsetStore;
}

/** The group coordinator: all groups of the cluster with their offsets. */
export class Coordinator {
  readonly #groups = new Map<string, GroupEntry>();

  constructor(
    private readonly topics: Topics,
    private readonly runtime: Runtime,
    private readonly options: CoordinatorOptions,
  ) {
    topics.onDeleted((topic) => {
      for (const { offsets } of this.#groups.values()) offsets.deleteTopic(topic);
    });
  }

  join(request: JoinRequest): Promise<JoinResponse> {
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.options;
    const { sessionTimeoutMs, groupId, memberId } = request;
    if (sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs)
      throw new Refusal(
        'INVALID_SESSION_TIMEOUT',
        `a session timeout of ${sessionTimeoutMs} ms is outside of ${minSessionTimeoutMs}..${maxSessionTimeoutMs}`,
      );
    const entry = memberId === '' ? this.#findOrCreate(groupId) : this.#requireJoined(groupId);
    if (entry.consumer.members.size > 0)
      throw new Refusal(
        'INCONSISTENT_GROUP_PROTOCOL',
        `group "${groupId}" has members of groupProtocol "consumer"`,
      );
    return entry.classic.join(request);
  }

  /** Handles join, heartbeat and acknowledgement of a member, which are one request (KIP-848). */
  consumerHeartbeat(request: ConsumerHeartbeatRequest): ConsumerHeartbeatResponse {
    const { groupId, epoch } = request;
    const { classic, consumer } =
      epoch === 0 ? this.#findOrCreate(groupId) : this.#requireJoined(groupId);
    if (classic.members.size > 0)
      throw new Refusal('GROUP_ID_NOT_FOUND', `group "${groupId}" has members of another protocol`);
    return consumer.heartbeat(request);
  }

  get consumerSessionTimeoutMs(): number {
    return this.options.consumerSessionTimeoutMs;
  }

  sync(member: MemberIdentity, plan: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    return this.#requireJoined(member.groupId).classic.sync(member, plan);
  }

  heartbeat(member: MemberIdentity): void {
    this.#requireJoined(member.groupId).classic.heartbeat(member);
  }

  leave(groupId: string, memberId: string): void {
    this.#activeGroup(this.#requireJoined(groupId)).leave(memberId);
  }

  expel(groupId: string, memberId: string): void {
    this.#activeGroup(this.#requireJoined(groupId)).expel(memberId);
  }

  /** Stores the valid offsets, and returns the refused partitions. */
  commit(
    member: MemberIdentity,
    offsets: readonly OffsetCommit[],
    refuse: (partition: TopicPartition) => Refusal | undefined,
  ): readonly RefusedPartition[] {
    const { classic, consumer, offsets: store } = this.#requireForCommit(member);
    if (consumer.members.size > 0) consumer.checkCommit(member);
    else classic.checkCommit(member);
    return this.#storeEach(offsets, refuse, (offset) => store.commit(offset));
  }

  /** Stores offsets that become valid when the transaction commits. */
  prepareCommit(
    member: MemberIdentity,
    producerId: number,
    offsets: readonly OffsetCommit[],
  ): readonly RefusedPartition[] {
    const { classic, consumer, offsets: store } = this.#requireForCommit(member);
    if (consumer.members.size > 0) consumer.checkTransactionalCommit(member);
    else classic.checkTransactionalCommit(member);
    return this.#storeEach(
      offsets,
      () => undefined,
      (offset) => store.prepare(producerId, offset),
    );
  }

  endTransaction(groupId: string, producerId: number, outcome: 'commit' | 'abort'): void {
    this.#groups.get(groupId)?.offsets.endTransaction(producerId, outcome);
  }

  committed(groupId: string, partitions: readonly TopicPartition[]): readonly OffsetResult[] {
    const offsets = this.#find(groupId)?.offsets;
    return partitions.map((partition): OffsetResult => {
      if (offsets?.isPending(partition)) return { kind: 'unstable', partition };
      const offset = offsets?.find(partition);
      return offset ? { kind: 'committed', offset } : { kind: 'none', partition };
    });
  }

  allCommitted(groupId: string): readonly StoredOffset[] {
    return this.#find(groupId)?.offsets.all() ?? [];
  }

  list(): readonly GroupListing[] {
    return [...this.#groups.keys()].flatMap((groupId) => {
      const found = this.#find(groupId);
      if (!found) return [];
      const { classic, consumer } = found;
      return [
        { groupId, protocolType: consumer.members.size > 0 ? 'consumer' : classic.protocolType },
      ];
    });
  }

  describe(groupId: string): DescribedGroup {
    const entry = this.#find(groupId);
    if (!entry) return { state: 'Dead', protocol: null, members: [] };
    const { classic, consumer } = entry;
    if (consumer.members.size > 0) return consumer.describe();
    return {
      state: classic.state,
      protocol: classic.protocol,
      members: [...classic.members.values()].map(({ id, clientId, host, assignment }) => ({
        memberId: id,
        clientId,
        host,
        assignment: classic.state === 'Stable' ? assignment : Buffer.alloc(0),
      })),
    };
  }

  deleteOffsets(
    groupId: string,
    partitions: readonly TopicPartition[],
    isSubscribed: (classic: ClassicGroup, topic: string) => boolean,
  ): void {
    const { classic, consumer, offsets } = this.#require(groupId);
    const subscribed = partitions.find(
      ({ topic }) => isSubscribed(classic, topic) || consumer.isSubscribedTo(topic),
    );
    if (subscribed)
      throw new Refusal(
        'GROUP_SUBSCRIBED_TO_TOPIC',
        `group "${groupId}" has members that read topic "${subscribed.topic}"`,
      );
    for (const partition of partitions) offsets.delete(partition);
  }

  delete(groupId: string): void {
    const { classic, consumer } = this.#require(groupId);
    const count = classic.members.size + consumer.members.size;
    if (count > 0) throw new Refusal('NON_EMPTY_GROUP', `group "${groupId}" has ${count} members`);
    this.#groups.delete(groupId);
  }

  #storeEach(
    offsets: readonly OffsetCommit[],
    refuse: (partition: TopicPartition) => Refusal | undefined,
    store: (offset: OffsetCommit) => void,
  ): readonly RefusedPartition[] {
    return offsets.flatMap((offset) => {
      const partition = { topic: offset.topic, partition: offset.partition };
      const refusal = this.#validate(offset) ?? refuse(partition);
      if (refusal) return [{ partition, refusal }];
      store(offset);
      return [];
    });
  }

  #validate({ topic, partition, metadata }: OffsetCommit): Refusal | undefined {
    if (!this.topics.find(topic)?.partitions[partition])
      return new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `there is no ${topic}/${partition}`);
    const limit = this.options.offsetMetadataLimit;
    if ((metadata?.length ?? 0) > limit)
      return new Refusal(
        'OFFSET_METADATA_TOO_LARGE',
        `the metadata has ${metadata?.length} UTF-16 units and the limit is ${limit}`,
      );
    return undefined;
  }

  /**
   * Returns the group of a commit. Offsets may be stored for a group that no member has ever
   * joined.
   */
  #requireForCommit({ groupId, memberId, generation }: MemberIdentity): GroupEntry {
    if (generation < 0 && memberId === '') return this.#findOrCreate(groupId);
    const entry = this.#find(groupId);
    if (!entry)
      throw new Refusal('ILLEGAL_GENERATION', `there is no group "${groupId}" with members`);
    return entry;
  }

  #requireJoined(groupId: string): GroupEntry {
    const entry = this.#groups.get(groupId);
    if (!entry) throw new Refusal('UNKNOWN_MEMBER_ID', `there is no group "${groupId}"`);
    return entry;
  }

  #activeGroup({ classic, consumer }: GroupEntry): ClassicGroup | ConsumerGroup {
    return consumer.members.size > 0 ? consumer : classic;
  }

  #require(groupId: string): GroupEntry {
    const entry = this.#find(groupId);
    if (!entry) throw new Refusal('GROUP_ID_NOT_FOUND', `there is no group "${groupId}"`);
    return entry;
  }

  #findOrCreate(groupId: string): GroupEntry {
    const known = this.#find(groupId);
    if (known) return known;
    const classic = new ClassicGroup(groupId, this.runtime, this.options);
    const consumer = new ConsumerGroup(groupId, this.topics, this.runtime, this.options, () => {
      classic.emptySince = this.runtime.now();
    });
    const entry = { classic, consumer, offsets: new OffsetStore() };
    this.#groups.set(groupId, entry);
    return entry;
  }

  /**
   * Returns the group. Expired offsets are deleted at access, which has the same visible effect as
   * a timer.
   */
  #find(groupId: string): GroupEntry | undefined {
    const entry = this.#groups.get(groupId);
    if (entry?.classic.state !== 'Empty' || entry.consumer.members.size > 0) return entry;
    if (this.runtime.now() - entry.classic.emptySince > this.options.offsetsRetentionMs)
      entry.offsets.clear();
    return entry;
  }
}
