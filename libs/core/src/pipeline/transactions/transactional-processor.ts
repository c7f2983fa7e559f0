import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  handedBack,
  isFinal,
  type Outcome,
  type RecordProcessor,
} from '../../model/outcomes/outcome.js';
import type { HandledRecord, SliceTransactions } from './slice-transactions.js';

/** A transaction costs some journeys to the brokers: handlers that are quick share one, a slow one has its own. */
const MAX_SHARED_MS = 100;

/**
 * Around what calls the handlers: what they have sent is committed with the progress of their
 * records. Calls are made one after the other, and committed together.
 */
export class TransactionalProcessor implements RecordProcessor {
  constructor(
    private readonly inner: RecordProcessor,
    private readonly transactions: SliceTransactions,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  open(sessionIndex: number): void {
    this.transactions.open(sessionIndex);
  }

  close(sessionIndex: number): Promise<void> {
    return this.transactions.close(sessionIndex);
  }

  async process(delivery: Delivery): Promise<Outcome> {
    const [outcome = handedBack] = await this.processSlice([delivery]);
    return outcome;
  }

  async processSlice(slice: readonly Delivery[]): Promise<readonly Outcome[]> {
    const handled = await this.#handle(slice);
    // Those behind them have no handler either, until they are given to one.
    for (const delivery of slice.slice(handled.length)) delivery.onHandlerReturned();
    return this.transactions.settle(handled);
  }

  /** As many as there is time for; nothing is begun when the partition is asked back or is to pause. */
  async #handle(slice: readonly Delivery[]): Promise<readonly HandledRecord[]> {
    const handled: HandledRecord[] = [];
    const since = this.runtime.monotonic();
    while (handled.length < slice.length) {
      // All deliveries of a slice are cancelled at the same time.
      if (slice[0]?.isCancelled) break;
      const outcomes = await this.#handleNext(slice, handled.length);
      for (const outcome of outcomes) handled.push({ delivery: slice[handled.length]!, outcome });
      const isStopped = outcomes.length === 0 || !outcomes.every(isFinal);
      if (isStopped || this.runtime.monotonic() - since >= MAX_SHARED_MS) break;
    }
    return handled;
  }

  async #handleNext(slice: readonly Delivery[], from: number): Promise<readonly Outcome[]> {
    return this.inner.processSlice
      ? this.inner.processSlice(from === 0 ? slice : slice.slice(from))
      : [await this.inner.process(slice[from]!)];
  }
}
