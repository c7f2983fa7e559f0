import type {
  AssignmentListener,
  CommittedOffset,
  ConsumerSession,
  OffsetCommit,
  SessionStatus,
} from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import { errorReasonOf, ownError } from '../../../port/error-text.js';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  TopicRecreatedError,
} from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import { abortable, Deferred, sleep, within } from '../../../runtime/index.js';
import { Notifier } from '../notifier.js';
import type { Connection } from '../connection.js';
import { partitionName } from '../../../port/topic-partition.js';
import { toBrokerError } from '../refusal-errors.js';
import { PartitionLifecycle } from './partition-lifecycle.js';
import { Committer } from './committer.js';
import { GroupClient } from './group-client.js';
import { ConsumerMembership } from './consumer-membership.js';
import type { GroupMembership } from './group-membership.js';
import { ClassicMembership } from './classic-membership.js';
import { Ownership } from './ownership.js';
import { PartitionGrowth } from './partition-growth.js';
import { PartitionRecovery } from './partition-recovery.js';
import { RecordPoller } from './record-poller.js';
import { RecordFetcher } from './record-fetcher.js';
import type { SessionContext } from './session-context.js';
import { StartPositions } from './start-positions.js';
import { StartSearch } from './start-search.js';
import { ConsumerStatus } from './consumer-status.js';
import { TopicWatch } from './topic-watch.js';

export interface MemoryConsumerSettings {
  readonly logger: DriverLogger | undefined;
  readonly metadataMaxAgeMs: number;
}

const LEAVE_TIMEOUT_MS = 1_000;

/** A member of a group on a memory broker: connects membership, fetching and commits. */
export class MemoryConsumer implements ConsumerSession {
  readonly #context: SessionContext;
  readonly #lifecycle: PartitionLifecycle;
  readonly #membership: GroupMembership;
  readonly #committer: Committer;
  readonly #fetcher: RecordFetcher;
  readonly #poller: RecordPoller;
  readonly #recovery: PartitionRecovery;
  readonly #topics: TopicWatch;
  readonly #starts: StartPositions;
  readonly #growth: PartitionGrowth;
  readonly #started = new Deferred();
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly options: ResolvedConsumerOptions,
    private readonly settings: MemoryConsumerSettings,
  ) {
    const { runtime } = connection.cluster;
    this.#context = {
      ownership: new Ownership(),
      status: new ConsumerStatus(runtime, settings.logger),
      notifier: new Notifier(),
      wake: () => this.#fetcher.wake(),
      commitStarts: (starts) => this.#commitStarts(starts),
      stop: (owned, error) => void this.#lifecycle.stop(owned, error),
      outOfRange: (owned) => void this.#recovery.outOfRange(owned),
      truncated: (owned, end) => void this.#recovery.truncated(owned, end),
      topicChanged: (owned) => void this.#recovery.topicChanged(owned),
      fail: (error) => this.#fail(error),
      delay: (milliseconds, signal) =>
        sleep(runtime, milliseconds, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        }),
    };
    const group = new GroupClient(connection, options);
    this.#growth = new PartitionGrowth(connection, group, options);
    this.#starts = new StartPositions(connection, group, options, this.#growth);
    this.#topics = new TopicWatch(
      connection,
      options.topics,
      this.#context,
      settings.metadataMaxAgeMs,
    );
    this.#lifecycle = new PartitionLifecycle(
      this.#context,
      new StartSearch(this.#context, connection, this.#starts, this.#topics),
      { runtime, rebalanceTimeoutMs: options.rebalanceTimeoutMs },
    );
    this.#fetcher = new RecordFetcher(connection, options, this.#context);
    this.#poller = new RecordPoller(this.#context, connection.cluster.network, () =>
      this.#fetcher.wake(),
    );
    const [starts, topics, lifecycle] = [this.#starts, this.#topics, this.#lifecycle];
    this.#recovery = new PartitionRecovery({
      ...this.#context,
      starts,
      topics,
      lifecycle,
      logger: settings.logger,
      signal: this.#ending.signal,
    });
    const ByProtocol =
      options.groupProtocol === 'consumer' ? ConsumerMembership : ClassicMembership;
    this.#membership = new ByProtocol(
      { ...this.#context, connection, group, topics, lifecycle },
      options,
    );
    const patienceMs = 2 * connection.requestTimeoutMs;
    this.#committer = new Committer(group, this.#context, this.#membership, runtime, patienceMs);
  }

  get memberId(): string {
    return this.#membership.identity.memberId;
  }

  get generation(): number {
    return this.#membership.identity.generation;
  }

  get leaseUntil(): number {
    return this.#membership.current?.leaseUntil ?? -Infinity;
  }

  get status(): SessionStatus {
    return this.#context.status.status;
  }

  onStatus(listener: (status: SessionStatus) => void): () => void {
    return this.#context.status.subscribe(listener);
  }

  async start(listener: AssignmentListener, signal?: AbortSignal): Promise<void> {
    if (this.#closing) throw closedError();
    if (this.#running)
      throw new InvalidOptionError('This session was started already: make another one.');
    signal?.throwIfAborted();
    this.#lifecycle.listen(listener);
    this.#running = this.#run();
    try {
      await abortable(this.#started.promise, signal);
    } catch (error) {
      if (signal?.aborted) await this.close();
      throw error;
    }
  }

  poll(...parameters: Parameters<ConsumerSession['poll']>): Promise<readonly BrokerRecord[]> {
    return this.#poller.poll(...parameters);
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#context.ownership.pause(partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#context.ownership.resume(partitions);
    this.#fetcher.wake();
  }

  paused(): readonly TopicPartition[] {
    return this.#context.ownership.paused();
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(`seek requires an offset of 0 or more; got ${offset}.`);
    const owned = this.#context.ownership.get({ topic, partition });
    if (!owned)
      throw new FencedError(
        [{ topic, partition }],
        `Cannot seek in ${partitionName({ topic, partition })}: this member does not own the partition.`,
      );
    if (owned.stopped instanceof TopicRecreatedError)
      owned.topicId = this.#topics.idOf(topic) ?? owned.topicId;
    owned.moveTo(offset);
    this.#fetcher.wake();
  }

  position(partition: TopicPartition): number | undefined {
    const position = this.#context.ownership.get(partition)?.position;
    return position === -1 ? undefined : position;
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (this.status.state === 'closed') throw closedError();
    await this.#committer.commit(offsets, this.#ending.signal);
  }

  async committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    if (this.status.state === 'closed') throw closedError();
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
    return this.#context.ownership.list();
  }

  topicId(topic: string): string | null {
    return this.#topics.idOf(topic);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Commits start positions, so that a later owner also starts there if nothing newer is committed.
   */
  #commitStarts(starts: readonly OffsetCommit[]): Promise<void> {
    return this.#committer.commit(starts, this.#ending.signal).catch((error: unknown) => {
      this.settings.logger?.warn('The start positions could not be committed', {
        error: errorReasonOf(error),
      });
    });
  }

  async #run(): Promise<void> {
    const intake = this.#fetcher.run(this.#ending.signal);
    await this.#growth.takeSnapshot(this.#ending.signal);
    await this.#membership.run(() => this.#started.resolve());
    await this.#committer.whenIdle();
    await this.#membership.leave(LEAVE_TIMEOUT_MS);
    this.#ending.abort(closedError());
    this.#context.notifier.notify();
    await intake;
  }

  async #close(): Promise<void> {
    const { runtime } = this.connection.cluster;
    this.#started.reject(this.#failure ?? closedError());
    for (const owned of this.#context.ownership.all()) owned.isServed = false;
    this.#poller.end(closedError());
    this.#membership.close();
    const boundMs = this.options.rebalanceTimeoutMs + LEAVE_TIMEOUT_MS;
    const late = (): Error => ownError(new Error(`Closing took longer than ${boundMs} ms.`));
    await within(runtime, boundMs, this.#running ?? Promise.resolve(), late).catch((error: Error) =>
      this.settings.logger?.warn('The session did not close in time', {
        error: errorReasonOf(error),
      }),
    );
    this.#ending.abort(closedError());
    this.#membership.current?.stop();
    this.#context.ownership.remove(this.#context.ownership.list());
    this.#context.notifier.notify();
    this.#context.status.closed();
  }

  /**
   * Ends the session after a permanent error. Its partitions are revoked, and the group continues
   * without this member.
   */
  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#context.status.failed(error);
    this.#started.reject(error);
    this.#poller.end(error);
    this.#membership.close();
  }
}

function closedError(): ClosedError {
  return new ClosedError('This session was closed: make another one.');
}
