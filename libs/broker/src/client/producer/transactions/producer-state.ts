import { ProducerFencedError } from '../../../port/errors.js';
import {
  endTransactionRequest,
  errorOfCode,
  reactionTo,
  transactionalProducerIdRequest,
  type TransactionalProducer,
  type TransactionProtocol,
} from '../../../wire/index.js';
import type { CoordinatorClient } from './coordinator-client.js';

/** The code for a transaction that is not open, because it has ended or never began. */
export const INVALID_TXN_STATE = 48;
/**
 * The code for an id that the coordinator has forgotten (transactional.id.expiration.ms). Such an
 * id has no open transaction.
 */
const INVALID_PRODUCER_ID_MAPPING = 49;
const INVALID_TRANSACTION_TIMEOUT = 50;
const TIMEOUT_ADVICE =
  'Choose a transactionTimeoutMs within transaction.max.timeout.ms of the broker (15 minutes by default).';

/** The state of a producer towards the coordinator of its transactional id. */
type State =
  /**
   * The producer has not asked for an epoch yet. Its first request fences any other producer with
   * the same id.
   */
  | { readonly kind: 'new' }
  | { readonly kind: 'ready'; readonly producer: TransactionalProducer }
  /**
   * Requests of the epoch may still arrive, or its transaction may be open. The next epoch makes
   * both harmless.
   */
  | {
      readonly kind: 'stale';
      readonly producer: TransactionalProducer;
      readonly mayBeOpen: boolean;
    }
  /**
   * The transactional id was taken over by another producer. A new request would fence that
   * producer, so no request is sent.
   */
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError };

/** Gets, renews and discards the producer id and epoch, over all transactions of a producer. */
export class ProducerState {
  #state: State = { kind: 'new' };

  constructor(
    private readonly transactionalId: string,
    private readonly timeoutMs: number,
    private readonly coordinator: CoordinatorClient,
    /** Returns the current protocol of the cluster, which may be upgraded at any time. */
    private readonly currentProtocol: () => TransactionProtocol,
  ) {}

  /** Returns the producer id and epoch for the next transaction. */
  async obtain(): Promise<TransactionalProducer> {
    const state = this.#state;
    switch (state.kind) {
      case 'ready':
        // The protocol can change only between two transactions, and only together with the epoch.
        return state.producer.protocol === this.currentProtocol()
          ? state.producer
          : this.#init(state.producer);
      case 'fenced':
        throw state.error;
      case 'new':
        return this.#init();
      case 'stale':
        return (
          (state.mayBeOpen ? await this.#abort(state.producer) : undefined) ??
          this.#init(state.producer)
        );
    }
  }

  /** Sets the epoch that the end of the previous transaction has increased. */
  epochRaised(producer: TransactionalProducer): void {
    if (this.#state.kind === 'ready') this.#state = { kind: 'ready', producer };
  }

  markStale(mayBeOpen: boolean): void {
    if (this.#state.kind === 'ready')
      this.#state = { kind: 'stale', producer: this.#state.producer, mayBeOpen };
  }

  markFenced(cause: Error, brokerCode: number): ProducerFencedError {
    const error = new ProducerFencedError(this.transactionalId, undefined, { cause, brokerCode });
    this.#state = { kind: 'fenced', error };
    return error;
  }

  async #init(current?: TransactionalProducer): Promise<TransactionalProducer> {
    const doing = `Taking over the transactional id "${this.transactionalId}"`;
    const { code, producerId, producerEpoch } = await this.coordinator.request({
      doing,
      request: transactionalProducerIdRequest(this.transactionalId, this.timeoutMs, current),
      codesOf: (answer) => [answer.code],
    });
    this.#check(code, doing);
    const { transactionalId } = this;
    return this.#becomeReady({
      transactionalId,
      producerId,
      producerEpoch,
      protocol: this.currentProtocol(),
    });
  }

  #becomeReady(producer: TransactionalProducer): TransactionalProducer {
    this.#state = { kind: 'ready', producer };
    return producer;
  }

  /**
   * Aborts the open transaction. InitProducerId during an open transaction would fence this
   * producer itself. Returns the new producer id and epoch if the response contains them.
   */
  async #abort(producer: TransactionalProducer): Promise<TransactionalProducer | undefined> {
    const doing = `Aborting the open transaction of "${this.transactionalId}"`;
    const { code, next } = await this.coordinator.request({
      doing,
      request: endTransactionRequest(producer, false),
      codesOf: (answer) => [answer.code],
    });
    // The transaction was committed or never began. In both cases it is not open any more.
    if (code !== INVALID_TXN_STATE && code !== INVALID_PRODUCER_ID_MAPPING)
      this.#check(code, doing);
    if (next) return this.#becomeReady({ ...producer, ...next });
    this.#state = { kind: 'stale', producer, mayBeOpen: false };
    return undefined;
  }

  #check(code: number, doing: string): void {
    if (code === 0) return;
    const advice = code === INVALID_TRANSACTION_TIMEOUT ? TIMEOUT_ADVICE : '';
    const error = errorOfCode(code, doing, advice);
    throw reactionTo('transaction', code) === 'producer-fenced'
      ? this.markFenced(error, code)
      : error;
  }
}
