import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/delivery.js';
import { handedBack, isFinal, type Outcome, type RecordProcessor } from '../../model/outcome.js';
import { waitSignalOf } from '../resilience/delivery-retry.js';
import type { Handled, SliceTransactions } from './slice-transactions.js';

/** A transaction costs some journeys to the brokers: handlers that are quick share one, a slow one has its own. */
const LONGEST_MS = 100;

/**
 * Around what calls the handlers: what they have sent is committed with the progress of their
 * records. Single records are handled one after the other, and committed together.
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
    return this.transactions.settle(await this.#handle(slice));
  }

  async #handle(slice: readonly Delivery[]): Promise<readonly Handled[]> {
    if (!this.inner.processSlice) return this.#handleEach(slice);
    const outcomes = await this.inner.processSlice(slice);
    return outcomes.map((outcome, index) => ({ delivery: slice[index]!, outcome }));
  }

  /** As many as there is time for; none is begun when the partition is asked back or is to pause. */
  async #handleEach(slice: readonly Delivery[]): Promise<readonly Handled[]> {
    const handled: Handled[] = [];
    const since = this.runtime.monotonic();
    // It ends for all of a slice at once.
    const calledOff = slice[0] && waitSignalOf(slice[0]);
    for (const delivery of slice) {
      if (calledOff?.aborted) break;
      const outcome = await this.inner.process(delivery);
      handled.push({ delivery, outcome });
      if (!isFinal(outcome) || this.runtime.monotonic() - since >= LONGEST_MS) break;
    }
    return handled;
  }
}
