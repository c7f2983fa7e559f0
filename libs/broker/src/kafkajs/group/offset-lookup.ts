import type { TopicPartition } from '../../port/record.js';
import { Backoff, sleep } from '../../runtime/index.js';
import {
  errorOfCode,
  offsetFetchRequest,
  reactionTo,
  type FetchedOffset,
  type OffsetFetchOptions,
} from '../wire/index.js';
import { underEither } from './either-signal.js';
import type { GroupCoordinator } from './group-coordinator.js';
import type { MemberSnapshot } from './membership.js';
import { paceAfter } from './pace.js';
import { keyOf } from './term.js';

export interface OffsetLookupOptions {
  readonly signal?: AbortSignal;
}

const RETRY = { initialMs: 50, maxMs: 1_000 };

/** Asks the group for its committed offsets until it has told them: a lookup that failed is not "none committed". */
export class OffsetLookup {
  constructor(
    private readonly coordinator: GroupCoordinator,
    private readonly member: () => MemberSnapshot,
  ) {}

  async fetch(
    partitions: readonly TopicPartition[],
    { signal }: OffsetLookupOptions = {},
  ): Promise<readonly FetchedOffset[]> {
    const { closed } = this.coordinator;
    const search = (ended: AbortSignal) => this.#untilFound(partitions, ended);
    return signal ? underEither(signal, closed, search) : search(closed);
  }

  async #untilFound(
    partitions: readonly TopicPartition[],
    ended: AbortSignal,
  ): Promise<readonly FetchedOffset[]> {
    const { runtime } = this.coordinator;
    const backoff = new Backoff(runtime, RETRY);
    const wanted = new Map(partitions.map((partition) => [keyOf(partition), partition]));
    const found: FetchedOffset[] = [];
    while (wanted.size > 0) {
      ended.throwIfAborted();
      for (const offset of await this.#ask([...wanted.values()], ended))
        if (wanted.delete(keyOf(offset))) found.push(offset);
      if (wanted.size > 0) await sleep(runtime, backoff.next(), ended);
    }
    return found;
  }

  /** What could be told this time. Throws what asking again does not mend. */
  async #ask(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedOffset[]> {
    const { groupId, lane } = this.coordinator;
    try {
      const request = offsetFetchRequest(groupId, partitions, memberOf(this.member()));
      const { node, answer } = await this.coordinator.request(lane, request, { signal });
      this.#succeeded(answer.code, node);
      if (answer.code !== 0) return [];
      return answer.offsets.filter(({ code }) => this.#succeeded(code, node));
    } catch (error) {
      signal.throwIfAborted();
      if (paceAfter(error) !== 'soon') throw error;
      return [];
    }
  }

  /** False where asking again helps; throws where it does not. */
  #succeeded(code: number, node: number): boolean {
    const reaction = reactionTo('offsetFetch', code);
    if (reaction === 'find-coordinator') this.coordinator.forget(node);
    if (reaction === 'done' || reaction === 'retry' || reaction === 'find-coordinator')
      return code === 0;
    throw errorOfCode(
      code,
      `The committed offsets of group "${this.coordinator.groupId}" were not told`,
    );
  }
}

/** Only a member by KIP-848 says who asks. */
function memberOf({ protocol, memberId, generation }: MemberSnapshot): OffsetFetchOptions {
  const isSaid = protocol === 'consumer' && memberId !== '';
  return isSaid ? { member: { memberId, epoch: generation } } : {};
}
