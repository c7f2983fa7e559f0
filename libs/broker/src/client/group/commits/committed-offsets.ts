import { RefusedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  errorOfCode,
  offsetFetchRequest,
  reactionTo,
  type FetchedOffset,
  type OffsetFetchOptions,
} from '../../../wire/index.js';
import { underEither } from '../either-signal.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { MemberSnapshot } from '../membership.js';
import { paceAfter } from '../retry-urgency.js';
import { keyOf } from '../classic/generation.js';

export interface OffsetLookupOptions {
  readonly signal?: AbortSignal;
  /** Told of what keeps it from ending. */
  readonly onTrouble?: (error: Error) => void;
}

/** What could be told this time, and why not all of it. */
interface Round {
  readonly offsets: readonly FetchedOffset[];
  readonly trouble: Error | undefined;
}

const RETRY = { initialMs: 50, maxMs: 1_000 };
/** A transaction that is about to end, a coordinator that is loading: not worth a word before it goes on. */
const ROUTINE_ROUNDS = 4;

/** Asks the group for its committed offsets until it has told them: a lookup that failed is not "none committed". */
export class OffsetLookup {
  constructor(
    private readonly coordinator: GroupCoordinator,
    private readonly member: () => MemberSnapshot,
  ) {}

  async fetch(
    partitions: readonly TopicPartition[],
    { signal, onTrouble }: OffsetLookupOptions = {},
  ): Promise<readonly FetchedOffset[]> {
    const { closed } = this.coordinator;
    const search = (ended: AbortSignal) => this.#untilFound(partitions, ended, onTrouble);
    return signal ? underEither(signal, closed, search) : search(closed);
  }

  async #untilFound(
    partitions: readonly TopicPartition[],
    ended: AbortSignal,
    onTrouble: OffsetLookupOptions['onTrouble'],
  ): Promise<readonly FetchedOffset[]> {
    const { runtime } = this.coordinator;
    const backoff = new Backoff(runtime, RETRY);
    const wanted = new Map(partitions.map((partition) => [keyOf(partition), partition]));
    const found: FetchedOffset[] = [];
    for (let round = 1; wanted.size > 0; round++) {
      ended.throwIfAborted();
      const { offsets, trouble } = await this.#ask([...wanted.values()], ended);
      for (const offset of offsets) if (wanted.delete(keyOf(offset))) found.push(offset);
      if (wanted.size === 0) break;
      const isRoutine = trouble instanceof RefusedError && round <= ROUTINE_ROUNDS;
      if (trouble && !isRoutine) onTrouble?.(trouble);
      await sleep(runtime, backoff.next(), ended);
    }
    return found;
  }

  /** Throws what asking again does not mend. */
  async #ask(partitions: readonly TopicPartition[], signal: AbortSignal): Promise<Round> {
    const { groupId, lane } = this.coordinator;
    try {
      const request = offsetFetchRequest(groupId, partitions, memberOf(this.member()));
      const { node, answer } = await this.coordinator.request(lane, request, { signal });
      const refused = this.#refusal(answer.code, node);
      if (refused) return { offsets: [], trouble: refused };
      const refusals = answer.offsets.map(({ code }) => this.#refusal(code, node));
      return {
        offsets: answer.offsets.filter((_, index) => !refusals[index]),
        trouble: refusals.find((each) => each !== undefined),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (paceAfter(error) !== 'soon') throw error;
      return { offsets: [], trouble: error as Error };
    }
  }

  /** Undefined where all is well. Throws where asking again does not help. */
  #refusal(code: number, node: number): Error | undefined {
    if (code === 0) return undefined;
    const reaction = reactionTo('offsetFetch', code);
    if (reaction === 'find-coordinator') this.coordinator.forget(node);
    const { groupId } = this.coordinator;
    const error = errorOfCode(code, `The committed offsets of group "${groupId}" were not told`);
    if (reaction === 'retry' || reaction === 'find-coordinator') return error;
    throw error;
  }
}

/** Only a member by KIP-848 says who asks. */
function memberOf({ protocol, memberId, generation }: MemberSnapshot): OffsetFetchOptions {
  const isSaid = protocol === 'consumer' && memberId !== '';
  return isSaid ? { member: { memberId, epoch: generation } } : {};
}
