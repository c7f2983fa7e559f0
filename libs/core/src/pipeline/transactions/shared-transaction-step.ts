import type { Runtime } from '@nest-event-bus/broker/runtime';
import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import type { HandledRecord, SliceTransactions } from './slice-transactions.js';

/**
 * A transaction costs several requests to the brokers: quick handlers share one, a slow one has its
 * own.
 */
const MAX_SHARED_MS = 100;

/**
 * Commits the records that handlers have sent, together with the progress of the handled records.
 * The handlers are called one after the other, and one transaction has the records of all of them.
 */
export class SharedTransactionStep implements PipelineStep {
  constructor(
    private readonly next: PipelineStep,
    private readonly transactions: Pick<SliceTransactions, 'settle'>,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  async process(call: RecordCall): Promise<Outcome> {
    const [outcome = handedBack] = await this.processSlice([call]);
    return outcome;
  }

  async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
    const handled = await this.#handle(slice);
    // Handling stopped before the remaining records of the slice. No handler runs for them, and the
    // watch of running handlers must know it.
    for (const { delivery } of slice.slice(handled.length)) delivery.onHandlerReturned();
    return this.transactions.settle(handled);
  }

  /**
   * Handles records until the time for a shared transaction is over. Stops when the partition is
   * revoked or paused.
   */
  async #handle(slice: readonly RecordCall[]): Promise<readonly HandledRecord[]> {
    const handled: HandledRecord[] = [];
    const since = this.runtime.monotonic();
    while (handled.length < slice.length) {
      // All records of a slice are cancelled at the same time, so the first one is enough.
      if (slice[0]?.delivery.isCancelled) break;
      const outcomes = await this.next.processSlice(slice.slice(handled.length));
      for (const outcome of outcomes)
        handled.push({ delivery: slice[handled.length]!.delivery, outcome });
      const isStopped = outcomes.length === 0 || !outcomes.every(isFinal);
      if (isStopped || this.runtime.monotonic() - since >= MAX_SHARED_MS) break;
    }
    return handled;
  }
}
