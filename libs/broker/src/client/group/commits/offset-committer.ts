import type { OffsetCommit } from '../../../port/consumer.js';
import {
  RequestTimeoutError,
  UnknownPartitionError,
  UnknownTopicError,
  type BrokerError,
} from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import { Backoff, sleep, within } from '../../../runtime/index.js';
import {
  errorOfCode,
  offsetCommitRequest,
  reactionTo,
  type FetchedOffset,
  type Metadata,
  type Reaction,
} from '../../../wire/index.js';
import { CommitCall, type CommitFailure } from './commit-call.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { type MemberSnapshot, type Membership, isSameGeneration } from '../membership.js';
import { CommittedOffsets, type CommittedOffsetsOptions } from './committed-offsets.js';
import { retryUrgencyAfter } from '../retry-urgency.js';

export interface OffsetCommitterOptions {
  readonly coordinator: GroupCoordinator;
  readonly membership: () => Pick<Membership, 'member' | 'whenSettled'>;
  /** The partitions of the session. `get` returns undefined for all others. */
  readonly ownedPartitions: { get(partition: TopicPartition): unknown };
  /** The time for which a commit is retried if the partition stays owned. Default 30 s. */
  readonly commitTimeoutMs?: number;
}

/**
 * The newest offset to be stored for a partition, with the calls that wait for this offset or for
 * an older one.
 */
interface PendingCommit {
  readonly commit: OffsetCommit;
  readonly since: MemberSnapshot;
  readonly calls: readonly CommitCall[];
}

/** A commit that is sent again, with the reaction to the error code in the response. */
interface QueuedCommit {
  readonly pending: PendingCommit;
  readonly reaction: 'retry' | 'refresh-metadata' | 'find-coordinator' | 'after-sync';
}

const COMMIT_TIMEOUT_MS = 30_000;
const RETRY = { initialMs: 50, maxMs: 1_000 };
/**
 * The longest time for which other commits wait for the metadata of a topic that may have been
 * deleted.
 */
const TOPIC_LOOKUP_MS = 1_000;
const UNKNOWN_TOPIC_OR_PARTITION = 3;
const OFFSET_METADATA_TOO_LARGE = 12;
const ILLEGAL_GENERATION = 22;

/**
 * Commits offsets, one request at a time. Calls during a request share the next request, with the
 * newest offset of each partition. If two requests were under way and one of them was sent again,
 * an older offset could overwrite a newer one.
 */
export class OffsetCommitter {
  readonly #options: OffsetCommitterOptions;
  readonly #coordinator: GroupCoordinator;
  readonly #committedOffsets: CommittedOffsets;
  readonly #waiting = new Map<string, PendingCommit>();
  readonly #backoff: Backoff;
  readonly #timeoutMs: number;
  #sending = false;

  constructor(options: OffsetCommitterOptions) {
    this.#options = options;
    this.#coordinator = options.coordinator;
    this.#committedOffsets = new CommittedOffsets(
      options.coordinator,
      () => options.membership().member.snapshot,
    );
    this.#backoff = new Backoff(options.coordinator.runtime, RETRY);
    this.#timeoutMs = options.commitTimeoutMs ?? COMMIT_TIMEOUT_MS;
  }

  /**
   * Resolves once these or newer offsets are stored. Rejects with a CommitError that lists every
   * partition whose offset was not stored. The offsets of owned partitions are committed even if
   * other partitions are refused: a broker stores whatever a current member commits, even for
   * partitions of another member, so the client has to check the ownership.
   */
  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.length === 0) return;
    const call = new CommitCall(offsets);
    const since = this.#options.membership().member.snapshot;
    for (const commit of offsets)
      if (this.#options.ownedPartitions.get(commit)) this.#add({ commit, since, calls: [call] });
      else call.markFailed(commit, { kind: 'fenced' });
    const timer = this.#coordinator.runtime.setTimer(
      () => call.failRemaining(this.#timeoutFailure()),
      this.#timeoutMs,
    );
    if (!this.#sending) void this.#sendAll();
    try {
      await call.done;
    } finally {
      timer.cancel();
    }
  }

  /**
   * Returns the committed offsets of the group. A failed lookup is retried until the signal aborts.
   */
  fetch(
    partitions: readonly TopicPartition[],
    options?: CommittedOffsetsOptions,
  ): Promise<readonly FetchedOffset[]> {
    return this.#committedOffsets.fetch(partitions, options);
  }

  /** Queues the newer of two offsets. The callers of the older one then wait for the newer one. */
  #add(newer: PendingCommit): void {
    const key = partitionKey(newer.commit);
    const older = this.#waiting.get(key);
    if (older && !this.#isStillOwned(older, newer)) fail(older, { kind: 'fenced' });
    // A call that has timed out no longer waits for a result.
    const calls = older
      ? [...older.calls, ...newer.calls].filter(({ isSettled }) => !isSettled)
      : newer.calls;
    this.#waiting.set(key, { ...newer, calls });
  }

  /**
   * Returns whether the member owned the partition without interruption between the two commits.
   */
  #isStillOwned({ commit, since }: PendingCommit, newer: PendingCommit): boolean {
    return (
      isSameGeneration(since, newer.since) || this.#options.membership().member.owns(commit, since)
    );
  }

  /**
   * Queues the commit again, because its offset may not have been stored. If the queue has a newer
   * offset of the partition, the newer one is sent.
   */
  #requeue(pending: PendingCommit): void {
    const key = partitionKey(pending.commit);
    const newer = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.#add(pending);
    if (newer) this.#add(newer);
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    // Commits of the same turn are sent in one request.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#send(batch);
    }
    this.#sending = false;
  }

  /**
   * Takes the commits that somebody still waits for: a call that has timed out no longer does.
   * Partitions that the member has lost since their commit was queued are refused.
   */
  #takeBatch(): readonly PendingCommit[] {
    const { ownedPartitions, membership } = this.#options;
    const batch: PendingCommit[] = [];
    for (const pending of this.#waiting.values()) {
      const { commit, since, calls } = pending;
      if (calls.every(({ isSettled }) => isSettled)) continue;
      const isOurs = ownedPartitions.get(commit) && membership().member.owns(commit, since);
      if (isOurs) batch.push(pending);
      else fail(pending, { kind: 'fenced' });
    }
    this.#waiting.clear();
    return batch;
  }

  /** Resolves when each partition of the batch has a result or is queued again. Never rejects. */
  async #send(batch: readonly PendingCommit[]): Promise<void> {
    const { snapshot } = this.#options.membership().member;
    try {
      const request = offsetCommitRequest(
        snapshot,
        batch.map(({ commit }) => commit),
      );
      const { node, answer } = await this.#coordinator.request(this.#coordinator.channel, request);
      const codes = new Map<string, number>();
      for (const each of answer) codes.set(partitionKey(each), each.code);
      const queued: QueuedCommit[] = [];
      for (const pending of batch) {
        const code = codes.get(partitionKey(pending.commit));
        const reaction = this.#settle(pending, code, snapshot);
        if (reaction !== 'settled') queued.push({ pending, reaction });
      }
      if (queued.length > 0) await this.#waitBeforeRetry(queued, node);
      else this.#backoff.reset();
    } catch (error) {
      await this.#onRequestFailed(batch, error as Error);
    }
  }

  /** Reacts to the broker's error codes, and waits. Fails commits of deleted topics. */
  async #waitBeforeRetry(queued: readonly QueuedCommit[], node: number): Promise<void> {
    const reactions = queued.map(({ reaction }) => reaction);
    if (reactions.includes('find-coordinator')) this.#coordinator.forget(node);
    if (reactions.includes('after-sync')) await this.#options.membership().whenSettled();
    const unknown = queued.filter(({ reaction }) => reaction === 'refresh-metadata');
    const deleted =
      unknown.length > 0
        ? await this.#failDeletedPartitions(unknown.map(({ pending }) => pending))
        : 0;
    if (queued.length > deleted) await this.#pause();
    else this.#backoff.reset();
  }

  #settle(
    pending: PendingCommit,
    code: number | undefined,
    snapshot: MemberSnapshot,
  ): 'settled' | QueuedCommit['reaction'] {
    const reaction = this.#reactionTo(code, snapshot);
    switch (reaction) {
      case 'done':
        for (const call of pending.calls) call.markStored(pending.commit);
        return 'settled';
      case 'retry':
      case 'refresh-metadata':
      case 'find-coordinator':
      case 'after-sync':
        this.#requeue(pending);
        return reaction;
      default:
        fail(pending, this.#failureOf(code as number));
        if (reaction === 'fenced')
          this.#options.membership().member.reportExpelled(snapshot, code as number);
        return 'settled';
    }
  }

  /**
   * Fails the commits of deleted topics, so that they do not delay the others. Commits are retried
   * if only the coordinator does not know the topic yet. Returns the number of failed commits.
   */
  async #failDeletedPartitions(unknown: readonly PendingCommit[]): Promise<number> {
    const { metadata, runtime } = this.#coordinator;
    const topics = [...new Set(unknown.map(({ commit }) => commit.topic))];
    const timeoutError = () =>
      new RequestTimeoutError(
        'No broker returned metadata of the topics in time. Check that the brokers can be reached.',
      );
    const isRefreshed = await within(
      runtime,
      TOPIC_LOOKUP_MS,
      metadata.refresh(topics),
      timeoutError,
    ).then(
      () => true,
      () => false,
    );
    // Metadata that were not refreshed may be older than the topic.
    if (!isRefreshed) return 0;
    let refused = 0;
    for (const { commit } of unknown) {
      const cause = deletedPartitionError(metadata, commit);
      const waiting = this.#waiting.get(partitionKey(commit));
      if (!cause || !waiting) continue;
      this.#waiting.delete(partitionKey(commit));
      // Retriable, because the topic may be created again.
      fail(waiting, { kind: 'refused', cause, retriable: true });
      refused++;
    }
    return refused;
  }

  #reactionTo(code: number | undefined, snapshot: MemberSnapshot): Reaction {
    if (code === undefined) return 'retry';
    // The generation of the commit has ended, but the member may still own the partitions in the
    // next generation.
    if (
      code === ILLEGAL_GENERATION &&
      this.#options.membership().member.mayHaveNewGeneration(snapshot)
    )
      return 'after-sync';
    return reactionTo('commit', code);
  }

  #failureOf(code: number): CommitFailure {
    const cause = errorOfCode(code, `Group "${this.#coordinator.groupId}" refused the commit`);
    if (reactionTo('commit', code) === 'fenced') return { kind: 'fenced', cause };
    if (code === OFFSET_METADATA_TOO_LARGE) return { kind: 'metadata-too-large', cause };
    return { kind: 'refused', cause, retriable: false };
  }

  /**
   * Queues the batch again after a request without a response, because its result is unknown. The
   * connection is closed, so that the lost request cannot arrive after later ones.
   */
  async #onRequestFailed(batch: readonly PendingCommit[], error: Error): Promise<void> {
    if (retryUrgencyAfter(error) === 'soon' && !this.#coordinator.closed.aborted) {
      for (const pending of batch) this.#requeue(pending);
      return this.#pause();
    }
    for (const pending of batch) fail(pending, { kind: 'refused', cause: error, retriable: false });
  }

  /**
   * Waits before the next request. If the wait itself fails, the queued commits fail too, because
   * they would be resent in a hot loop.
   */
  async #pause(): Promise<void> {
    const { runtime, closed } = this.#coordinator;
    try {
      await sleep(runtime, this.#backoff.next(), closed);
    } catch (error) {
      if (closed.aborted) return;
      const failure: CommitFailure = { kind: 'refused', cause: error as Error, retriable: false };
      for (const pending of this.#waiting.values()) fail(pending, failure);
    }
  }

  #timeoutFailure(): CommitFailure {
    const cause = new RequestTimeoutError(
      `Group "${this.#coordinator.groupId}" did not confirm the commit within ${this.#timeoutMs} ms; it may or may not be stored. Commit again, or check the coordinator.`,
    );
    return { kind: 'refused', cause, retriable: true };
  }
}

function fail({ commit, calls }: PendingCommit, failure: CommitFailure): void {
  for (const call of calls) call.markFailed(commit, failure);
}

/** Returns an error only if the metadata show for certain that the partition does not exist. */
export function deletedPartitionError(
  metadata: Metadata,
  { topic, partition }: TopicPartition,
): BrokerError | undefined {
  const known = metadata.topic(topic);
  const options = { brokerCode: UNKNOWN_TOPIC_OR_PARTITION };
  if (known?.code === UNKNOWN_TOPIC_OR_PARTITION)
    return new UnknownTopicError(topic, undefined, options);
  const isGone = known?.code === 0 && metadata.partition(topic, partition) === undefined;
  return isGone ? new UnknownPartitionError({ topic, partition }, undefined, options) : undefined;
}
