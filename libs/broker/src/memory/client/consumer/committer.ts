import type { OffsetCommit } from '../../../port/consumer.js';
import { errorReasonOf } from '../../../port/error-text.js';
import {
  type CommitError,
  CommitRefusedError,
  FencedError,
  OffsetMetadataTooLargeError,
  UnknownTopicError,
} from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { isSamePartition } from '../../../port/topic-partition.js';
import { Backoff, type Runtime } from '../../../runtime/index.js';
import type { RefusedPartition } from '../../broker/groups/coordinator.js';
import { isRefusal, Refusal } from '../../broker/faults/refusal.js';
import { partitionNames } from '../../../port/topic-partition.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { GroupClient } from './group-client.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';
import type { GroupMembership } from './group-membership.js';

interface OwnedCommit {
  readonly offset: OffsetCommit;
  readonly owned: OwnedPartition | undefined;
}

interface Failure {
  readonly partition: TopicPartition;
  readonly cause: Refusal | Error | 'fenced';
}

/** Sends one commit after the other, so that an older commit cannot overwrite a newer one. */
export class Committer {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly group: GroupClient,
    private readonly context: SessionContext,
    private readonly membership: Pick<GroupMembership, 'current' | 'mayStillOwn'>,
    private readonly runtime: Runtime,
    private readonly patienceMs: number,
  ) {}

  /**
   * Checks the ownership when `commit` is called, not when the request is sent: a commit must not
   * be stored in a later assignment.
   */
  commit(offsets: readonly OffsetCommit[], signal: AbortSignal): Promise<void> {
    const invalid = offsets.filter(({ offset }) => !Number.isSafeInteger(offset) || offset < 0);
    if (invalid.length > 0) return Promise.reject(invalidOffsetsError(invalid));
    const { ownership } = this.context;
    const commits = offsets.map((offset) => {
      const owned = ownership.get(offset);
      // The leader epoch of the last consumed record, by which the next owner detects a truncated
      // log.
      const leaderEpoch = owned?.epochs.epochBefore(offset.offset) ?? -1;
      return { offset: { leaderEpoch, ...offset }, owned };
    });
    for (const { owned } of commits) if (owned) owned.commits++;
    const turn = this.#last.then(() => this.#commitWithRetries(commits, signal));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when no commit is pending. */
  whenIdle(): Promise<unknown> {
    return this.#last;
  }

  async #commitWithRetries(commits: readonly OwnedCommit[], signal: AbortSignal): Promise<void> {
    const deadline = this.runtime.monotonic() + this.patienceMs;
    const backoff = new Backoff(this.runtime, { initialMs: 20, maxMs: 500 });
    const failures: Failure[] = [];
    let left = commits;
    for (;;) {
      const stillOwned = left.filter(({ owned }) => this.#isOwned(owned));
      failures.push(...left.filter((each) => !stillOwned.includes(each)).map(fenced));
      const attempted = stillOwned.length > 0 ? await this.#attempt(stillOwned, signal) : [];
      const isLate = this.runtime.monotonic() >= deadline || signal.aborted;
      const again = isLate ? [] : attempted.filter(({ cause }) => isWorthRetrying(cause));
      failures.push(...attempted.filter((each) => !again.includes(each)));
      if (again.length === 0) break;
      left = stillOwned.filter(({ offset }) =>
        again.some((each) => isSamePartition(each.partition, offset)),
      );
      await this.context.delay(backoff.next(), signal);
    }
    if (failures.length === 0) return;
    for (const { offset, owned } of commits)
      if (owned && failures.some(({ partition }) => isSamePartition(partition, offset)))
        owned.commits--;
    throw commitError(failures);
  }

  async #attempt(
    commits: readonly OwnedCommit[],
    signal: AbortSignal,
  ): Promise<readonly Failure[]> {
    const { current } = this.membership;
    const offsets = commits.map(({ offset }) => offset);
    if (!current) return commits.map(fenced);
    try {
      const refused = await this.group.commit(current.identity, offsets, signal);
      return refused.map(({ partition, refusal }: RefusedPartition) => ({
        partition,
        cause: isRefusal(refusal, 'UNKNOWN_TOPIC_OR_PARTITION')
          ? toBrokerError(refusal, partition.topic)
          : refusal,
      }));
    } catch (error) {
      // The generation of the commit has ended, but the member may still own the partitions in the
      // next one.
      if (isRefusal(error, 'ILLEGAL_GENERATION') && this.membership.mayStillOwn(current))
        return offsets.map((partition) => ({ partition, cause: asRebalanceInProgress(error) }));
      if (isRefusal(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID')) {
        current.onFenced(error);
        return commits.map(fenced);
      }
      return offsets.map((partition) => ({ partition, cause: toBrokerError(error) }));
    }
  }

  #isOwned(owned: OwnedPartition | undefined): boolean {
    return owned !== undefined && this.context.ownership.get(owned) === owned;
  }
}

function asRebalanceInProgress({ message }: Refusal): Refusal {
  return new Refusal('REBALANCE_IN_PROGRESS', message);
}

const fenced = ({ offset: { topic, partition } }: OwnedCommit): Failure => ({
  partition: { topic, partition },
  cause: 'fenced',
});

function isWorthRetrying(cause: Failure['cause']): boolean {
  // A commit for a deleted topic is not retried, because that could delay a whole rebalance.
  return isRetriable(cause) && !(cause instanceof UnknownTopicError);
}

function commitError(failures: readonly Failure[]): CommitError {
  const partitions = failures.map(({ partition: { topic, partition } }) => ({ topic, partition }));
  const causes = failures.map(({ cause }) => cause);
  const list = partitionNames(partitions);
  if (causes.every((cause) => cause === 'fenced'))
    return new FencedError(
      partitions,
      `The commit of ${list} was not stored: this member does not own ${partitions.length === 1 ? 'it' : 'them'} any more. The current owner decides the offset; discard the result.`,
    );
  const [first] = causes.filter((cause) => cause !== 'fenced');
  if (causes.every((cause) => isRefusal(cause, 'OFFSET_METADATA_TOO_LARGE')))
    return new OffsetMetadataTooLargeError(
      partitions,
      `The commit of ${list} was not stored: ${(first as Refusal).message}. Commit with shorter metadata.`,
      { cause: first, brokerCode: (first as Refusal).brokerCode },
    );
  return new CommitRefusedError(
    partitions,
    `The commit of ${list} was not stored: ${first === undefined ? 'see the cause' : errorReasonOf(first)}`,
    causes.every(isRetriable),
    { cause: causes.length === 1 ? first : new AggregateError(causes.map(causeError)) },
  );
}

function causeError(cause: Failure['cause']): Error {
  return cause === 'fenced' ? new Error('The member does not own the partition any more.') : cause;
}

function invalidOffsetsError(offsets: readonly OffsetCommit[]): CommitRefusedError {
  const partitions = offsets.map(({ topic, partition }) => ({ topic, partition }));
  return new CommitRefusedError(
    partitions,
    `Nothing was committed: ${offsets.map(({ offset }) => String(offset)).join(', ')} is not a valid offset. Commit the next offset to read, an integer of 0 or more.`,
    false,
  );
}
