import { ClosedError } from '../../../port/errors.js';
import type { Transaction } from '../../../port/producer.js';
import { TransactionCourse } from '../../../port/transaction-course.js';
import { oneAtATime } from '../../../port/transactional-use.js';
import { within } from '../../../runtime/index.js';
import {
  findCoordinatorRequest,
  findTransactionCoordinatorRequest,
  transactionFlowOf,
} from '../../../wire/index.js';
import type { SenderContext } from '../sender-options.js';
import { CoordinatorLink } from './coordinator-link.js';
import { KafkajsTransaction } from './kafka-transaction.js';
import { ProducerEpoch } from './producer-epoch.js';
import { ProducerStanding } from './producer-state.js';

/**
 * The transactions of one producer, one after the other. Where all went well the next one goes on
 * in the same epoch, or in the one that the end of the last has raised; else the epoch is left
 * behind, with whatever may still be on its way.
 */
export class Transactions {
  readonly #link: CoordinatorLink;
  readonly #standing: ProducerStanding;
  readonly #lane: string;
  #group: { readonly groupId: string; readonly link: CoordinatorLink } | undefined;
  #epoch: ProducerEpoch | undefined;
  #isBeginning = false;
  #current: TransactionCourse | undefined;
  #closed: ClosedError | undefined;

  constructor(
    private readonly context: SenderContext,
    private readonly transactionalId: string,
    private readonly producerId: string,
  ) {
    this.#lane = `transaction:${producerId}`;
    this.#link = new CoordinatorLink(context, this.#lane, {
      name: `the transactional id "${transactionalId}"`,
      find: findTransactionCoordinatorRequest(transactionalId),
      place: 'transaction',
    });
    const { transactionTimeoutMs } = context.options;
    this.#standing = new ProducerStanding(transactionalId, transactionTimeoutMs, this.#link, () =>
      transactionFlowOf(context.cluster.features),
    );
  }

  async begin(): Promise<Transaction> {
    if (this.#isBeginning || this.#current) throw oneAtATime(this.transactionalId);
    this.#isBeginning = true;
    try {
      const producer = await this.#standing.obtain();
      if (this.#closed) throw this.#closed;
      // Its identity was renewed for another flow.
      if (this.#epoch && this.#epoch.producer !== producer) this.#leave(this.#epoch);
      const lane = `produce:${this.producerId}`;
      this.#epoch ??= new ProducerEpoch(producer, this.context, lane, this.#link);
      return (this.#current = new TransactionCourse(this.#work(this.#epoch)));
    } finally {
      this.#isBeginning = false;
    }
  }

  /** Aborts what is open, within the time; then nothing is asked any more. */
  async close(timeoutMs: number, reason: ClosedError): Promise<void> {
    this.#closed = reason;
    const { runtime } = this.context.cluster;
    const ended = this.#current?.close() ?? Promise.resolve();
    await within(runtime, timeoutMs, ended, () => reason).catch(() => undefined);
    this.#link.close(reason);
    this.#group?.link.close(reason);
    this.#epoch?.dispatch.end(reason);
    this.context.cluster.closeLane(this.#lane, reason);
  }

  #work(epoch: ProducerEpoch): KafkajsTransaction {
    return new KafkajsTransaction({
      epoch,
      link: this.#link,
      deliveryTimeoutMs: this.context.options.deliveryTimeoutMs,
      linkToGroup: (groupId) => this.#linkToGroup(groupId),
      onFenced: (cause, code) => this.#standing.fenced(cause, code),
      onOver: () => this.#over(epoch),
    });
  }

  #over(epoch: ProducerEpoch): void {
    this.#current = undefined;
    const { successor, isWorn, mayBeOpen } = epoch;
    if (successor) this.#standing.renewed(successor);
    else if (isWorn) this.#standing.wornOut(mayBeOpen);
    if (isWorn) this.#leave(epoch);
    else epoch.startAnew();
  }

  #leave(epoch: ProducerEpoch): void {
    this.#epoch = undefined;
    epoch.dispatch.end(new ClosedError('The transaction is over.'));
  }

  /** A producer sends the offsets of one group, as a rule. */
  #linkToGroup(groupId: string): CoordinatorLink {
    if (this.#group?.groupId !== groupId) {
      const link = new CoordinatorLink(this.context, this.#lane, {
        name: `group "${groupId}"`,
        find: findCoordinatorRequest(groupId),
        place: 'transactionOffsets',
      });
      this.#group = { groupId, link };
    }
    return this.#group.link;
  }
}
