import { FencedError, type ProducerFencedError } from '../../../port/errors.js';
import type { TransactionOffsets } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type {
  EndResult,
  TransactionOperations,
  TransactionOutcome,
} from '../../../port/transaction-lifecycle.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import type { ProducerIdentity } from '../../broker/transactions/transactions.js';
import type { Connection } from '../connection.js';
import { partitionNames } from '../../../port/topic-partition.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { Accumulator } from './accumulator.js';
import { asProducerFencedError } from './producer-fenced.js';

/** The state of a transactional producer at the broker. */
export type ProducerState =
  | { readonly kind: 'ready'; readonly identity: ProducerIdentity }
  /**
   * The outcome of the last transaction is unknown: the broker is asked to abort it if it is open.
   */
  | { readonly kind: 'stale'; readonly identity: ProducerIdentity }
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError };

export interface MemoryTransactionContext {
  readonly connection: Connection;
  readonly transactionalId: string;
  readonly identity: ProducerIdentity;
  readonly accumulator: Accumulator;
  readonly deliveryTimeoutMs: number;
  readonly signal: AbortSignal;
  onEnded(state: ProducerState): void;
}

/** The operations of a transaction on a memory broker. */
export class MemoryTransaction implements TransactionOperations {
  #isEmpty = true;
  #state: ProducerState;

  constructor(private readonly context: MemoryTransactionContext) {
    this.#state = { kind: 'ready', identity: context.identity };
  }

  async send(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
  ): Promise<readonly WrittenRecord[]> {
    this.#isEmpty = false;
    return this.context.accumulator.send(records, { signal });
  }

  async sendOffsets(
    { offsets, ...member }: TransactionOffsets,
    signal: AbortSignal,
  ): Promise<void> {
    this.#isEmpty = false;
    const { connection, transactionalId, identity } = this.context;
    const { groupId, memberId } = member;
    const scope = { groupId, memberId, partitions: offsets };
    try {
      const refused = await this.#retry(signal, () =>
        connection.call({ operation: 'commit-offsets-in-transaction', ...scope }, () =>
          connection.cluster.transactions.commitOffsets(transactionalId, identity, member, offsets),
        ),
      );
      if (refused[0]) throw toBrokerError(refused[0].refusal, refused[0].partition.topic);
    } catch (error) {
      if (!isRefusal(error, 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'))
        throw asProducerFencedError(error, transactionalId) ?? toBrokerError(error);
      const partitions = offsets.map(({ topic, partition }) => ({ topic, partition }));
      throw new FencedError(
        partitions,
        `The offsets of ${partitionNames(partitions)} cannot be committed with the transaction: ${error.message}. Abort it; whoever owns them now does the work.`,
        { cause: error, brokerCode: error.brokerCode },
      );
    }
  }

  flush(): void {
    this.context.accumulator.flush();
  }

  async end(outcome: TransactionOutcome): Promise<EndResult> {
    if (this.#isEmpty) return { kind: 'done' };
    const { connection, transactionalId, identity, signal } = this.context;
    let mayHaveEnded = false;
    this.#state = { kind: 'stale', identity };
    const attempt = (): Promise<ProducerIdentity> =>
      connection.call({ operation: 'end-transaction' }, () => {
        const { producerId, epoch } = connection.cluster.transactions.end(
          transactionalId,
          identity,
          outcome,
        );
        return { producerId, epoch };
      });
    try {
      const next = await this.#retry(signal, () =>
        attempt().catch((error: unknown) => {
          mayHaveEnded ||= !isRefusal(error);
          throw error;
        }),
      );
      this.#state = { kind: 'ready', identity: next };
      return { kind: 'done' };
    } catch (error) {
      return this.#endFailed(error, mayHaveEnded);
    }
  }

  onEnded(): void {
    this.context.onEnded(this.#state);
  }

  #endFailed(error: unknown, mayHaveEnded: boolean): EndResult {
    if (isRefusal(error, 'INVALID_TXN_STATE'))
      return { kind: 'wrong-state', error: toBrokerError(error) };
    const fenced = asProducerFencedError(error, this.context.transactionalId);
    if (!fenced) return { kind: 'failed', error: toBrokerError(error), mayHaveEnded };
    this.#state = { kind: 'fenced', error: fenced };
    return { kind: 'fenced', error: fenced, mayHaveEnded };
  }

  /** Retries a request. The coordinator gives the same answer to a repetition. */
  async #retry<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const { runtime } = this.context.connection.cluster;
    const deadline = runtime.monotonic() + this.context.deliveryTimeoutMs;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 1_000 });
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const isOver = signal.aborted || this.context.signal.aborted;
        if (isOver || runtime.monotonic() >= deadline || !isRetriable(error)) throw error;
        await sleep(runtime, backoff.next(), signal).catch(() => undefined);
      }
    }
  }
}
