import type { GroupListing } from '../../port/admin.js';
import type { OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import type { Runtime } from '../../runtime/index.js';
import { ConsumerGroup, type ConsumerGroupOptions } from './consumer-group.js';
import type { BeatAnswer, BeatRequest } from './consumer-member.js';
import { Group, type GroupState } from './group.js';
import type { JoinAnswer, JoinRequest } from './group-member.js';
import { OffsetStore, type StoredOffset } from './offset-store.js';
import { Refusal } from './refusal.js';
import type { Topics } from './topics.js';

export interface CoordinatorOptions extends ConsumerGroupOptions {
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  readonly initialRebalanceDelayMs: number;
  /** In UTF-16 units, as brokers count. */
  readonly offsetMetadataLimit: number;
  /** Counted from when the group became empty. */
  readonly offsetsRetentionMs: number;
}

export interface MemberIdentity {
  readonly groupId: string;
  readonly memberId: string;
  readonly generation: number;
  /** Of a static member. */
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

export type OffsetAnswer =
  | { readonly kind: 'committed'; readonly offset: StoredOffset }
  | { readonly kind: 'none'; readonly partition: TopicPartition }
  | { readonly kind: 'unstable'; readonly partition: TopicPartition };

interface Entry {
  /** Its members are of one kind or the other: a broker that does not migrate groups. */
  readonly group: Group;
  readonly consumers: ConsumerGroup;
  readonly offsets: OffsetStore;
}

/** All groups of the cluster with their offsets. */
export class Coordinator {
  readonly #groups = new Map<string, Entry>();

  constructor(
    private readonly topics: Topics,
    private readonly runtime: Runtime,
    private readonly options: CoordinatorOptions,
  ) {
    topics.onDeleted((topic) => {
      for (const { offsets } of this.#groups.values()) offsets.deleteTopic(topic);
    });
  }

  join(request: JoinRequest): Promise<JoinAnswer> {
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.options;
    const { sessionTimeoutMs, groupId, memberId } = request;
    if (sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs)
      throw new Refusal(
        'INVALID_SESSION_TIMEOUT',
        `a session time-out of ${sessionTimeoutMs} ms is outside of ${minSessionTimeoutMs}..${maxSessionTimeoutMs}`,
      );
    const entry = memberId === '' ? this.#findOrCreate(groupId) : this.#joined(groupId);
    if (entry.consumers.members.size > 0)
      throw new Refusal(
        'INCONSISTENT_GROUP_PROTOCOL',
        `group "${groupId}" has members of groupProtocol "consumer"`,
      );
    return entry.group.join(request);
  }

  /** Join, heartbeat and acknowledgement in one (KIP-848). */
  beat(request: BeatRequest): BeatAnswer {
    const { groupId, epoch } = request;
    const { group, consumers } = epoch === 0 ? this.#findOrCreate(groupId) : this.#joined(groupId);
    if (group.members.size > 0)
      throw new Refusal('GROUP_ID_NOT_FOUND', `group "${groupId}" has members of another protocol`);
    return consumers.beat(request);
  }

  get consumerSessionTimeoutMs(): number {
    return this.options.consumerSessionTimeoutMs;
  }

  sync(member: MemberIdentity, plan: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    return this.#joined(member.groupId).group.sync(member, plan);
  }

  heartbeat(member: MemberIdentity): void {
    this.#joined(member.groupId).group.heartbeat(member);
  }

  leave(groupId: string, memberId: string): void {
    this.#kindOf(this.#joined(groupId)).leave(memberId);
  }

  expel(groupId: string, memberId: string): void {
    this.#kindOf(this.#joined(groupId)).expel(memberId);
  }

  /** Stores what can be stored; the answer has the partitions that were refused. */
  commit(
    member: MemberIdentity,
    offsets: readonly OffsetCommit[],
    refuse: (partition: TopicPartition) => Refusal | undefined,
  ): readonly RefusedPartition[] {
    const { group, consumers, offsets: store } = this.#committing(member);
    if (consumers.members.size > 0) consumers.checkCommit(member);
    else group.checkCommit(member);
    return this.#each(offsets, refuse, (offset) => store.commit(offset));
  }

  /** Offsets that count once the transaction does. */
  prepareCommit(
    member: MemberIdentity,
    producerId: number,
    offsets: readonly OffsetCommit[],
  ): readonly RefusedPartition[] {
    const { group, consumers, offsets: store } = this.#committing(member);
    if (consumers.members.size > 0) consumers.checkTransactionalCommit(member);
    else group.checkTransactionalCommit(member);
    return this.#each(
      offsets,
      () => undefined,
      (offset) => store.prepare(producerId, offset),
    );
  }

  endTransaction(groupId: string, producerId: number, outcome: 'commit' | 'abort'): void {
    this.#groups.get(groupId)?.offsets.endTransaction(producerId, outcome);
  }

  committed(groupId: string, partitions: readonly TopicPartition[]): readonly OffsetAnswer[] {
    const offsets = this.#find(groupId)?.offsets;
    return partitions.map((partition): OffsetAnswer => {
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
      const { group, consumers } = found;
      return [
        { groupId, protocolType: consumers.members.size > 0 ? 'consumer' : group.protocolType },
      ];
    });
  }

  describe(groupId: string): DescribedGroup {
    const entry = this.#find(groupId);
    if (!entry) return { state: 'Dead', protocol: null, members: [] };
    const { group, consumers } = entry;
    if (consumers.members.size > 0) return consumers.describe();
    return {
      state: group.state,
      protocol: group.protocol,
      members: [...group.members.values()].map(({ id, clientId, host, assignment }) => ({
        memberId: id,
        clientId,
        host,
        assignment: group.state === 'Stable' ? assignment : Buffer.alloc(0),
      })),
    };
  }

  deleteOffsets(
    groupId: string,
    partitions: readonly TopicPartition[],
    isSubscribed: (group: Group, topic: string) => boolean,
  ): void {
    const { group, consumers, offsets } = this.#known(groupId);
    const subscribed = partitions.find(
      ({ topic }) => isSubscribed(group, topic) || consumers.reads(topic),
    );
    if (subscribed)
      throw new Refusal(
        'GROUP_SUBSCRIBED_TO_TOPIC',
        `group "${groupId}" has members that read topic "${subscribed.topic}"`,
      );
    for (const partition of partitions) offsets.delete(partition);
  }

  delete(groupId: string): void {
    const { group, consumers } = this.#known(groupId);
    const count = group.members.size + consumers.members.size;
    if (count > 0) throw new Refusal('NON_EMPTY_GROUP', `group "${groupId}" has ${count} members`);
    this.#groups.delete(groupId);
  }

  #each(
    offsets: readonly OffsetCommit[],
    refuse: (partition: TopicPartition) => Refusal | undefined,
    store: (offset: OffsetCommit) => void,
  ): readonly RefusedPartition[] {
    return offsets.flatMap((offset) => {
      const partition = { topic: offset.topic, partition: offset.partition };
      const refusal = this.#objection(offset) ?? refuse(partition);
      if (refusal) return [{ partition, refusal }];
      store(offset);
      return [];
    });
  }

  #objection({ topic, partition, metadata }: OffsetCommit): Refusal | undefined {
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

  /** Offsets may be kept for a group that nobody has ever joined. */
  #committing({ groupId, memberId, generation }: MemberIdentity): Entry {
    if (generation < 0 && memberId === '') return this.#findOrCreate(groupId);
    const entry = this.#find(groupId);
    if (!entry)
      throw new Refusal('ILLEGAL_GENERATION', `there is no group "${groupId}" with members`);
    return entry;
  }

  #joined(groupId: string): Entry {
    const entry = this.#groups.get(groupId);
    if (!entry) throw new Refusal('UNKNOWN_MEMBER_ID', `there is no group "${groupId}"`);
    return entry;
  }

  #kindOf({ group, consumers }: Entry): Group | ConsumerGroup {
    return consumers.members.size > 0 ? consumers : group;
  }

  #known(groupId: string): Entry {
    const entry = this.#find(groupId);
    if (!entry) throw new Refusal('GROUP_ID_NOT_FOUND', `there is no group "${groupId}"`);
    return entry;
  }

  #findOrCreate(groupId: string): Entry {
    const known = this.#find(groupId);
    if (known) return known;
    const group = new Group(groupId, this.runtime, this.options);
    const consumers = new ConsumerGroup(groupId, this.topics, this.runtime, this.options, () => {
      group.emptySince = this.runtime.now();
    });
    const entry = { group, consumers, offsets: new OffsetStore() };
    this.#groups.set(groupId, entry);
    return entry;
  }

  /** Expiry of offsets is looked at when the group is: nobody can tell the difference from a timer. */
  #find(groupId: string): Entry | undefined {
    const entry = this.#groups.get(groupId);
    if (entry?.group.state !== 'Empty' || entry.consumers.members.size > 0) return entry;
    if (this.runtime.now() - entry.group.emptySince > this.options.offsetsRetentionMs)
      entry.offsets.clear();
    return entry;
  }
}
