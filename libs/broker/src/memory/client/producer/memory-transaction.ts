import { FencedError, RefusedError } from '../../../port/errors.js';
import type { Transaction, TransactionOffsets } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import { isRefusal } from '../../broker/refusal.js';
import type { ProducerIdentity, Verdict } from '../../broker/transactions.js';
import type { Link } from '../link.js';
import { listOf } from '../partition-name.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { Accumulator } from './accumulator.js';

export interface MemoryTransactionParts {
  readonly link: Link;
  readonly transactionalId: string;
  readonly identity: ProducerIdentity;
  readonly accumulator: Accumulator;
  readonly deliveryTimeoutMs: number;
  readonly signal: AbortSignal;
  onEnded(next: ProducerIdentity | undefined): void;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'broken'; readonly error: Error }
  | { readonly kind: 'ended'; readonly how: string };

/** Records and offsets that count together or not at all. After a failure only `abort` is left. */
export class MemoryTransaction implements Transaction {
  #state: State = { kind: 'open' };
  readonly #pending = new Set<Promise<unknown>>();
  #isEmpty = true;

  constructor(private readonly parts: MemoryTransactionParts) {}

  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]> {
    return this.#step(async () => {
      if (records.length === 0) return [];
      const sent = this.parts.accumulator.send(records, {});
      this.#isEmpty = false;
      return sent;
    });
  }

  sendOffsets({ groupId, memberId, generation, offsets }: TransactionOffsets): Promise<void> {
    return this.#step(async () => {
      if (offsets.length === 0) return;
      this.#isEmpty = false;
      const { link, transactionalId, identity } = this.parts;
      const member = { groupId, memberId, generation };
      const scope = { groupId, memberId, partitions: offsets };
      try {
        const refused = await this.#persist(() =>
          link.call({ operation: 'commit-offsets-in-transaction', ...scope }, () =>
            link.cluster.transactions.commitOffsets(transactionalId, identity, member, offsets),
          ),
        );
        if (refused[0]) throw toBrokerError(refused[0].refusal, refused[0].partition.topic);
      } catch (error) {
        if (!isRefusal(error, 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID')) throw error;
        const partitions = offsets.map(({ topic, partition }) => ({ topic, partition }));
        throw new FencedError(
          partitions,
          `The offsets of ${listOf(partitions)} cannot be committed with the transaction: ${error.message}. Abort it; whoever owns them now does the work.`,
          { cause: error, brokerCode: error.brokerCode },
        );
      }
    });
  }

  async commit(): Promise<void> {
    this.#checkOpen();
    await this.#allSettled();
    if (this.#state.kind === 'broken')
      throw new RefusedError(
        `The transaction cannot be committed because a part of it failed: ${this.#state.error.message} Abort it.`,
        false,
        { cause: this.#state.error },
      );
    await this.#end('commit');
  }

  async abort(): Promise<void> {
    if (this.#state.kind === 'ended') throw this.#over(this.#state.how);
    await this.#allSettled();
    await this.#end('abort');
  }

  async #end(verdict: Verdict): Promise<void> {
    const { link, transactionalId, identity, onEnded } = this.parts;
    this.#state = { kind: 'ended', how: verdict === 'commit' ? 'committed' : 'aborted' };
    if (this.#isEmpty) return onEnded(identity);
    try {
      const next = await this.#persist(() =>
        link.call({ operation: 'end-transaction' }, () => {
          const { producerId, epoch } = link.cluster.transactions.end(
            transactionalId,
            identity,
            verdict,
          );
          return { producerId, epoch };
        }),
      );
      onEnded(next);
    } catch (error) {
      onEnded(undefined);
      const isFenced = isRefusal(error, 'PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH');
      // Timed out, it was aborted by the coordinator: that is what was asked for.
      if (isFenced && verdict === 'abort') return;
      throw toBrokerError(error);
    }
  }

  async #step<T>(step: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    const running = step();
    this.#pending.add(running);
    try {
      return await running;
    } catch (error) {
      if (this.#state.kind === 'open')
        this.#state = {
          kind: 'broken',
          error: error instanceof Error ? error : toBrokerError(error),
        };
      throw error instanceof Error && !isRefusal(error) ? error : toBrokerError(error);
    } finally {
      this.#pending.delete(running);
    }
  }

  #allSettled(): Promise<unknown> {
    this.parts.accumulator.flush();
    return Promise.allSettled([...this.#pending]);
  }

  /** The coordinator answers a repetition as it answered the first time. */
  async #persist<T>(attempt: () => Promise<T>): Promise<T> {
    const { runtime } = this.parts.link.cluster;
    const deadline = runtime.monotonic() + this.parts.deliveryTimeoutMs;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 1_000 });
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const isLate = runtime.monotonic() >= deadline || this.parts.signal.aborted;
        if (isLate || !isRetriable(error)) throw error;
        await sleep(runtime, backoff.next(), this.parts.signal).catch(() => undefined);
      }
    }
  }

  #checkOpen(): void {
    if (this.#state.kind === 'ended') throw this.#over(this.#state.how);
  }

  #over(how: string): RefusedError {
    return new RefusedError(`The transaction was ${how} already: begin another one.`, false);
  }
}
