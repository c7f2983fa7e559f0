import { FencedError, type ProducerFencedError } from '../../../port/errors.js';
import type { TransactionOffsets } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type { Ending, TransactionWork, Verdict } from '../../../port/transaction-course.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import { isRefusal } from '../../broker/refusal.js';
import type { ProducerIdentity } from '../../broker/transactions.js';
import type { Link } from '../link.js';
import { listOf } from '../partition-name.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { Accumulator } from './accumulator.js';
import { asFenced } from './fenced.js';

/** Where a transactional producer stands with the broker after a transaction. */
export type Standing =
  | { readonly kind: 'ready'; readonly identity: ProducerIdentity }
  /** The end of a transaction is not known: the broker is asked to abort what may be open. */
  | { readonly kind: 'stale'; readonly identity: ProducerIdentity }
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError };

export interface MemoryTransactionParts {
  readonly link: Link;
  readonly transactionalId: string;
  readonly identity: ProducerIdentity;
  readonly accumulator: Accumulator;
  readonly deliveryTimeoutMs: number;
  readonly signal: AbortSignal;
  onOver(standing: Standing): void;
}

/** The steps of a transaction with a memory broker. */
export class MemoryTransaction implements TransactionWork {
  #isEmpty = true;
  #standing: Standing;

  constructor(private readonly parts: MemoryTransactionParts) {
    this.#standing = { kind: 'ready', identity: parts.identity };
  }

  async send(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
  ): Promise<readonly WrittenRecord[]> {
    this.#isEmpty = false;
    return this.parts.accumulator.send(records, { signal });
  }

  async sendOffsets(
    { offsets, ...member }: TransactionOffsets,
    signal: AbortSignal,
  ): Promise<void> {
    this.#isEmpty = false;
    const { link, transactionalId, identity } = this.parts;
    const { groupId, memberId } = member;
    const scope = { groupId, memberId, partitions: offsets };
    try {
      const refused = await this.#persist(signal, () =>
        link.call({ operation: 'commit-offsets-in-transaction', ...scope }, () =>
          link.cluster.transactions.commitOffsets(transactionalId, identity, member, offsets),
        ),
      );
      if (refused[0]) throw toBrokerError(refused[0].refusal, refused[0].partition.topic);
    } catch (error) {
      if (!isRefusal(error, 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'))
        throw asFenced(error, transactionalId) ?? toBrokerError(error);
      const partitions = offsets.map(({ topic, partition }) => ({ topic, partition }));
      throw new FencedError(
        partitions,
        `The offsets of ${listOf(partitions)} cannot be committed with the transaction: ${error.message}. Abort it; whoever owns them now does the work.`,
        { cause: error, brokerCode: error.brokerCode },
      );
    }
  }

  hurry(): void {
    this.parts.accumulator.flush();
  }

  async end(verdict: Verdict): Promise<Ending> {
    if (this.#isEmpty) return { kind: 'done' };
    const { link, transactionalId, identity, signal } = this.parts;
    let mayHaveEnded = false;
    this.#standing = { kind: 'stale', identity };
    const attempt = (): Promise<ProducerIdentity> =>
      link.call({ operation: 'end-transaction' }, () => {
        const { producerId, epoch } = link.cluster.transactions.end(
          transactionalId,
          identity,
          verdict,
        );
        return { producerId, epoch };
      });
    try {
      const next = await this.#persist(signal, () =>
        attempt().catch((error: unknown) => {
          mayHaveEnded ||= !isRefusal(error);
          throw error;
        }),
      );
      this.#standing = { kind: 'ready', identity: next };
      return { kind: 'done' };
    } catch (error) {
      return this.#endFailed(error, mayHaveEnded);
    }
  }

  over(): void {
    this.parts.onOver(this.#standing);
  }

  #endFailed(error: unknown, mayHaveEnded: boolean): Ending {
    if (isRefusal(error, 'INVALID_TXN_STATE'))
      return { kind: 'otherwise', error: toBrokerError(error) };
    const fenced = asFenced(error, this.parts.transactionalId);
    if (!fenced) return { kind: 'failed', error: toBrokerError(error), mayHaveEnded };
    this.#standing = { kind: 'fenced', error: fenced };
    return { kind: 'fenced', error: fenced, mayHaveEnded };
  }

  /** The coordinator answers a repetition as it answered the first time. */
  async #persist<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const { runtime } = this.parts.link.cluster;
    const deadline = runtime.monotonic() + this.parts.deliveryTimeoutMs;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 1_000 });
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const isOver = signal.aborted || this.parts.signal.aborted;
        if (isOver || runtime.monotonic() >= deadline || !isRetriable(error)) throw error;
        await sleep(runtime, backoff.next(), signal).catch(() => undefined);
      }
    }
  }
}
