import type {
  AssignmentListener,
  CommittedOffset,
  ConsumerSession,
  OffsetCommit,
  SessionStatus,
} from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  TopicRecreatedError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import { abortable, Deferred, sleep, within } from '../../../runtime/index.js';
import { Bell } from '../notifier.js';
import type { Link } from '../link.js';
import { nameOf } from '../partition-name.js';
import { toBrokerError } from '../refusal-errors.js';
import { AssignmentRoad } from './assignment-road.js';
import { Committer } from './committer.js';
import { GroupClient } from './group-client.js';
import { ConsumerMembership } from './consumer-membership.js';
import type { GroupMembership } from './group-membership.js';
import { Membership } from './membership.js';
import { Ownership } from './ownership.js';
import { PartitionGrowth } from './partition-growth.js';
import { PartitionRecovery } from './partition-recovery.js';
import { RecordHandout } from './record-handout.js';
import { RecordIntake } from './record-intake.js';
import type { SessionParts } from './session-parts.js';
import { StartPositions } from './start-positions.js';
import { StartSearch } from './start-search.js';
import { StatusBoard } from './status-board.js';
import { TopicWatch } from './topic-watch.js';

export interface MemoryConsumerSettings {
  readonly logger: DriverLogger | undefined;
  readonly metadataMaxAgeMs: number;
}

const LEAVE_TIMEOUT_MS = 1_000;

/** One member of a group on a memory broker: joins membership, intake and commits into the port's session. */
export class MemoryConsumer implements ConsumerSession {
  readonly #parts: SessionParts;
  readonly #road: AssignmentRoad;
  readonly #membership: GroupMembership;
  readonly #committer: Committer;
  readonly #intake: RecordIntake;
  readonly #handout: RecordHandout;
  readonly #recovery: PartitionRecovery;
  readonly #topics: TopicWatch;
  readonly #starts: StartPositions;
  readonly #growth: PartitionGrowth;
  readonly #started = new Deferred();
  readonly #ending = new AbortController();
  #life: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(
    private readonly link: Link,
    private readonly options: ResolvedConsumerOptions,
    private readonly settings: MemoryConsumerSettings,
  ) {
    const { runtime } = link.cluster;
    this.#parts = {
      ownership: new Ownership(),
      status: new StatusBoard(runtime, settings.logger),
      bell: new Bell(),
      wake: () => this.#intake.wake(),
      keep: (starts) => this.#keep(starts),
      stop: (owned, error) => void this.#road.stop(owned, error),
      outOfRange: (owned) => void this.#recovery.outOfRange(owned),
      truncated: (owned, end) => void this.#recovery.truncated(owned, end),
      topicChanged: (owned) => void this.#recovery.topicChanged(owned),
      fail: (error) => this.#fail(error),
      rest: (milliseconds, signal) =>
        sleep(runtime, milliseconds, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        }),
    };
    const group = new GroupClient(link, options);
    this.#growth = new PartitionGrowth(link, group, options);
    this.#starts = new StartPositions(link, group, options, this.#growth);
    this.#topics = new TopicWatch(link, options.topics, this.#parts, settings.metadataMaxAgeMs);
    this.#road = new AssignmentRoad(
      this.#parts,
      new StartSearch(this.#parts, link, this.#starts, this.#topics),
      { runtime, rebalanceTimeoutMs: options.rebalanceTimeoutMs },
    );
    this.#intake = new RecordIntake(link, options, this.#parts);
    this.#handout = new RecordHandout(this.#parts, link.cluster.network, () => this.#intake.wake());
    const [starts, topics, road] = [this.#starts, this.#topics, this.#road];
    this.#recovery = new PartitionRecovery({
      ...this.#parts,
      starts,
      topics,
      road,
      logger: settings.logger,
      signal: this.#ending.signal,
    });
    const ByProtocol = options.groupProtocol === 'consumer' ? ConsumerMembership : Membership;
    this.#membership = new ByProtocol({ ...this.#parts, link, group, topics, road }, options);
    const patienceMs = 2 * link.requestTimeoutMs;
    this.#committer = new Committer(group, this.#parts, this.#membership, runtime, patienceMs);
  }

  get memberId(): string {
    return this.#membership.identity.memberId;
  }

  get generation(): number {
    return this.#membership.identity.generation;
  }

  get status(): SessionStatus {
    return this.#parts.status.status;
  }

  onStatus(listener: (status: SessionStatus) => void): () => void {
    return this.#parts.status.subscribe(listener);
  }

  async start(listener: AssignmentListener, signal?: AbortSignal): Promise<void> {
    if (this.#closing) throw closed();
    if (this.#life)
      throw new InvalidOptionError('This session was started already: make another one.');
    signal?.throwIfAborted();
    this.#road.listen(listener);
    this.#life = this.#live();
    try {
      await abortable(this.#started.promise, signal);
    } catch (error) {
      if (signal?.aborted) await this.close();
      throw error;
    }
  }

  poll(...asked: Parameters<ConsumerSession['poll']>): Promise<readonly BrokerRecord[]> {
    return this.#handout.poll(...asked);
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#parts.ownership.pause(partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#parts.ownership.resume(partitions);
    this.#intake.wake();
  }

  paused(): readonly TopicPartition[] {
    return this.#parts.ownership.paused();
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(`seek needs a whole number from 0 on, not ${offset}.`);
    const owned = this.#parts.ownership.get({ topic, partition });
    if (!owned)
      throw new FencedError(
        [{ topic, partition }],
        `There is no seeking in ${nameOf({ topic, partition })}: this member does not own it.`,
      );
    if (owned.stopped instanceof TopicRecreatedError)
      owned.topicId = this.#topics.idOf(topic) ?? owned.topicId;
    owned.moveTo(offset);
    this.#intake.wake();
  }

  position(partition: TopicPartition): number | undefined {
    const position = this.#parts.ownership.get(partition)?.position;
    return position === -1 ? undefined : position;
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (this.status.state === 'closed') throw closed();
    await this.#committer.commit(offsets, this.#ending.signal);
  }

  async committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    if (this.status.state === 'closed') throw closed();
    const known = await this.#starts
      .committed(partitions, this.#ending.signal)
      .catch((error: unknown) => {
        throw toBrokerError(error);
      });
    return partitions.flatMap(({ topic, partition }, index) => {
      const offset = known[index];
      return offset ? [{ topic, partition, ...offset }] : [];
    });
  }

  assignment(): readonly TopicPartition[] {
    return this.#parts.ownership.list();
  }

  topicId(topic: string): string | null {
    return this.#topics.idOf(topic);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Whoever reads later starts there too, unless something newer is committed. */
  #keep(starts: readonly OffsetCommit[]): Promise<void> {
    return this.#committer.commit(starts, this.#ending.signal).catch((error: unknown) => {
      this.settings.logger?.warn('Where partitions start could not be committed', {
        error: (error as Error).message,
      });
    });
  }

  async #live(): Promise<void> {
    const intake = this.#intake.run(this.#ending.signal);
    await this.#growth.look(this.#ending.signal);
    await this.#membership.run(() => this.#started.resolve());
    await this.#committer.idle();
    await this.#membership.leave(LEAVE_TIMEOUT_MS);
    this.#ending.abort(closed());
    this.#parts.bell.ring();
    await intake;
  }

  async #close(): Promise<void> {
    const { runtime } = this.link.cluster;
    this.#started.reject(this.#failure ?? closed());
    for (const owned of this.#parts.ownership.all()) owned.isServed = false;
    this.#handout.end(closed());
    this.#membership.close();
    const boundMs = this.options.rebalanceTimeoutMs + LEAVE_TIMEOUT_MS;
    const late = (): Error => new Error(`Closing took longer than ${boundMs} ms.`);
    await within(runtime, boundMs, this.#life ?? Promise.resolve(), late).catch((error: Error) =>
      this.settings.logger?.warn('The session was closed by force', { error: error.message }),
    );
    this.#ending.abort(closed());
    this.#membership.tenure?.stop();
    this.#parts.ownership.remove(this.#parts.ownership.list());
    this.#parts.bell.ring();
    this.#parts.status.closed();
  }

  /** Beyond mending: what is owned is handed back, and the group goes on without us. */
  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#parts.status.failed(error);
    this.#started.reject(error);
    this.#handout.end(error);
    this.#membership.close();
  }
}

function closed(): ClosedError {
  return new ClosedError('This session was closed: make another one.');
}
