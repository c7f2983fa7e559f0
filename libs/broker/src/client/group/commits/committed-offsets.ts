import { RefusedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  errorOfCode,
  offsetFetchRequest,
  reactionTo,
  type FetchedOffset,
  type OffsetFetchOptions,
} from '../../../wire/index.js';
import { withEitherSignal } from '../either-signal.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { MemberSnapshot } from '../membership.js';
import { retryUrgencyAfter } from '../retry-urgency.js';

export interface CommittedOffsetsOptions {
  readonly signal?: AbortSignal;
  /** Called with each error that delays the result. */
  readonly onError?: (error: Error) => void;
}

/**
 * The result of one attempt: the offsets that were returned, and the error of the other partitions.
 */
interface FetchAttempt {
  readonly offsets: readonly FetchedOffset[];
  readonly error: Error | undefined;
}

const RETRY = { initialMs: 50, maxMs: 1_000 };
/**
 * The number of attempts after which an expected error is reported, such as a transaction that is
 * about to end or a coordinator that is loading.
 */
const EXPECTED_FAILURES = 4;

/**
 * Fetches the committed offsets of the group and retries until they are known. A failed lookup must
 * not be treated as "no offset committed".
 */
export class CommittedOffsets {
  constructor(
    private readonly coordinator: GroupCoordinator,
    private readonly member: () => MemberSnapshot,
  ) {}

  async fetch(
    partitions: readonly TopicPartition[],
    { signal, onError }: CommittedOffsetsOptions = {},
  ): Promise<readonly FetchedOffset[]> {
    const { closed } = this.coordinator;
    const fetch = (until: AbortSignal) => this.#fetchUntilComplete(partitions, until, onError);
    return signal ? withEitherSignal(signal, closed, fetch) : fetch(closed);
  }

  async #fetchUntilComplete(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
    onError: CommittedOffsetsOptions['onError'],
  ): Promise<readonly FetchedOffset[]> {
    const { runtime } = this.coordinator;
    const backoff = new Backoff(runtime, RETRY);
    const wanted = new Map(partitions.map((partition) => [partitionKey(partition), partition]));
    const found: FetchedOffset[] = [];
    for (let attempt = 1; wanted.size > 0; attempt++) {
      signal.throwIfAborted();
      const { offsets, error } = await this.#attempt([...wanted.values()], signal);
      for (const offset of offsets) if (wanted.delete(partitionKey(offset))) found.push(offset);
      if (wanted.size === 0) break;
      const isExpected = error instanceof RefusedError && attempt <= EXPECTED_FAILURES;
      if (error && !isExpected) onError?.(error);
      await sleep(runtime, backoff.next(), signal);
    }
    return found;
  }

  /** Throws errors that a retry does not resolve. */
  async #attempt(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<FetchAttempt> {
    const { groupId, channel } = this.coordinator;
    try {
      const request = offsetFetchRequest(groupId, partitions, memberOf(this.member()));
      const { node, answer } = await this.coordinator.request(channel, request, { signal });
      const topLevelError = this.#errorForCode(answer.code, node);
      if (topLevelError) return { offsets: [], error: topLevelError };
      const errors = answer.offsets.map(({ code }) => this.#errorForCode(code, node));
      return {
        offsets: answer.offsets.filter((_, index) => !errors[index]),
        error: errors.find((each) => each !== undefined),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (retryUrgencyAfter(error) !== 'soon') throw error;
      return { offsets: [], error: error as Error };
    }
  }

  /** Returns undefined for a code without an error. Throws errors that a retry does not resolve. */
  #errorForCode(code: number, node: number): Error | undefined {
    if (code === 0) return undefined;
    const reaction = reactionTo('offsetFetch', code);
    if (reaction === 'find-coordinator') this.coordinator.forget(node);
    const { groupId } = this.coordinator;
    const error = errorOfCode(
      code,
      `The committed offsets of group "${groupId}" were not returned`,
    );
    if (reaction === 'retry' || reaction === 'find-coordinator') return error;
    throw error;
  }
}

/**
 * Returns the member id and epoch for the request. Only members of the consumer protocol (KIP-848)
 * send them.
 */
function memberOf({ protocol, memberId, generation }: MemberSnapshot): OffsetFetchOptions {
  const includesMember = protocol === 'consumer' && memberId !== '';
  return includesMember ? { member: { memberId, epoch: generation } } : {};
}
