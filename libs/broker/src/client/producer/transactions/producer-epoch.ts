import type { EndedTransaction, TransactionalProducer } from '../../../wire/index.js';
import { Dispatch } from '../batching/dispatch.js';
import type { SenderContext } from '../sender-options.js';
import type { CoordinatorLink } from './coordinator-link.js';
import { EnrolmentDesk } from './add-partitions-to-txn.js';
import { NumberingDesk } from './transaction-sequences.js';
import type { TransactionDesk } from './partition-registrar.js';

/**
 * What transactions share while all goes well: the way to the leaders, and in the announced flow an
 * epoch and the sequence numbers in it. Once something failed it is worn: what still wanders through
 * the network could do harm in the next transaction, unless that has another epoch. In the implied
 * flow it has: a transaction that has surely ended leaves its epoch behind with it.
 */
export class ProducerEpoch {
  readonly dispatch: Dispatch;
  readonly #desk: TransactionDesk;
  #producer: TransactionalProducer;
  #successor: TransactionalProducer | undefined;
  #isWorn = false;
  /** The coordinator has not confirmed the end of the latest transaction. */
  mayBeOpen = false;

  constructor(
    producer: TransactionalProducer,
    context: SenderContext,
    connectionLane: string,
    link: CoordinatorLink,
  ) {
    const { flow } = producer;
    this.#producer = producer;
    this.#desk =
      flow === 'implied'
        ? new NumberingDesk(producer)
        : new EnrolmentDesk(producer, link, () => this.askedTwice());
    this.dispatch = new Dispatch({ ...context, flow }, connectionLane, (_, onServed) =>
      this.#desk.serving(onServed),
    );
  }

  get producer(): TransactionalProducer {
    return this.#producer;
  }

  /** Whom to write the next transaction as, where the end of this one told. */
  get successor(): TransactionalProducer | undefined {
    return this.#successor;
  }

  get isWorn(): boolean {
    return this.#isWorn;
  }

  /** Whether records were to be written in the present transaction. */
  get hasBegun(): boolean {
    return this.#desk.isBegun;
  }

  wear(): void {
    this.#isWorn = true;
  }

  /** What was asked twice may arrive twice, the second time in the middle of the next transaction. */
  askedTwice(): void {
    if (this.#producer.flow === 'announced') this.wear();
  }

  ended({ next }: EndedTransaction): void {
    if (next) this.#successor = { ...this.#producer, ...next };
    // Its end has raised the epoch all the same: InitProducerId tells to which.
    else if (this.#producer.flow === 'implied') this.wear();
  }

  /** For the transaction that comes after this one. */
  startAnew(): void {
    this.#producer = this.#successor ?? this.#producer;
    this.#successor = undefined;
    this.#desk.startAnew(this.#producer);
    this.dispatch.hurry(false);
  }
}
