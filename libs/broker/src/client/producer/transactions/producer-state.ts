import { ProducerFencedError } from '../../../port/errors.js';
import {
  endTransactionRequest,
  errorOfCode,
  reactionTo,
  transactionalProducerIdRequest,
  type TransactionalProducer,
  type TransactionFlow,
} from '../../../wire/index.js';
import type { CoordinatorLink } from './coordinator-link.js';

/** It is not open: it has ended, or was never begun. */
export const INVALID_TXN_STATE = 48;
/** The coordinator has forgotten the id (transactional.id.expiration.ms): nothing of it is open. */
const INVALID_PRODUCER_ID_MAPPING = 49;
const INVALID_TRANSACTION_TIMEOUT = 50;
const TIMEOUT_ADVICE =
  'Choose a transactionTimeoutMs within transaction.max.timeout.ms of the broker (15 minutes by default).';

/** Where a producer stands with the coordinator of its id. */
type Standing =
  /** It never asked: whoever has the id is fenced when it does. */
  | { readonly kind: 'new' }
  | { readonly kind: 'good'; readonly producer: TransactionalProducer }
  /**
   * Something of the epoch may still wander through the network, or its transaction may be open.
   * In the next epoch neither can do harm.
   */
  | { readonly kind: 'worn'; readonly producer: TransactionalProducer; readonly mayBeOpen: boolean }
  /** Another producer has the id. To take it back would fence that one: nobody asks again. */
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError };

/** The producer's identity over all its transactions: how it is got, renewed and lost. */
export class ProducerStanding {
  #standing: Standing = { kind: 'new' };

  constructor(
    private readonly transactionalId: string,
    private readonly timeoutMs: number,
    private readonly link: CoordinatorLink,
    /** As the cluster has it now: it may be upgraded at any time. */
    private readonly flowNow: () => TransactionFlow,
  ) {}

  /** The one to write the next transaction as. */
  async obtain(): Promise<TransactionalProducer> {
    const standing = this.#standing;
    switch (standing.kind) {
      case 'good':
        // Between two transactions, and with an epoch in between, the flow may change.
        return standing.producer.flow === this.flowNow()
          ? standing.producer
          : this.#init(standing.producer);
      case 'fenced':
        throw standing.error;
      case 'new':
        return this.#init();
      case 'worn':
        return (
          (standing.mayBeOpen ? await this.#abort(standing.producer) : undefined) ??
          this.#init(standing.producer)
        );
    }
  }

  /** The end of its transaction has raised the epoch. */
  renewed(producer: TransactionalProducer): void {
    if (this.#standing.kind === 'good') this.#standing = { kind: 'good', producer };
  }

  wornOut(mayBeOpen: boolean): void {
    if (this.#standing.kind === 'good')
      this.#standing = { kind: 'worn', producer: this.#standing.producer, mayBeOpen };
  }

  fenced(cause: Error, brokerCode: number): ProducerFencedError {
    const error = new ProducerFencedError(this.transactionalId, undefined, { cause, brokerCode });
    this.#standing = { kind: 'fenced', error };
    return error;
  }

  async #init(current?: TransactionalProducer): Promise<TransactionalProducer> {
    const doing = `Taking over the transactional id "${this.transactionalId}"`;
    const { code, producerId, producerEpoch } = await this.link.ask({
      doing,
      request: transactionalProducerIdRequest(this.transactionalId, this.timeoutMs, current),
      codesOf: (answer) => [answer.code],
    });
    this.#check(code, doing);
    const { transactionalId } = this;
    return this.#isNow({ transactionalId, producerId, producerEpoch, flow: this.flowNow() });
  }

  #isNow(producer: TransactionalProducer): TransactionalProducer {
    this.#standing = { kind: 'good', producer };
    return producer;
  }

  /**
   * To renew the identity of a producer whose transaction is open would fence the producer itself.
   * The new identity, where the end brings one.
   */
  async #abort(producer: TransactionalProducer): Promise<TransactionalProducer | undefined> {
    const doing = `Aborting what "${this.transactionalId}" may have left open`;
    const { code, next } = await this.link.ask({
      doing,
      request: endTransactionRequest(producer, false),
      codesOf: (answer) => [answer.code],
    });
    // Committed after all, or never begun: either way it is not open.
    if (code !== INVALID_TXN_STATE && code !== INVALID_PRODUCER_ID_MAPPING)
      this.#check(code, doing);
    if (next) return this.#isNow({ ...producer, ...next });
    this.#standing = { kind: 'worn', producer, mayBeOpen: false };
    return undefined;
  }

  #check(code: number, doing: string): void {
    if (code === 0) return;
    const advice = code === INVALID_TRANSACTION_TIMEOUT ? TIMEOUT_ADVICE : '';
    const error = errorOfCode(code, doing, advice);
    throw reactionTo('transaction', code) === 'producer-fenced' ? this.fenced(error, code) : error;
  }
}
