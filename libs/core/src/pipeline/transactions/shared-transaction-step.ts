import type { Runtime } from '@nest-event-bus/broker/runtime';
import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import type { HandledRecord, SliceTransactions } from './slice-transactions.js';

/** A transaction costs several requests to the brokers: quick handlers share one, a slow one has its own. */
const MAX_SHARED_MS = 100;

/**
 * Commits what the handlers have sent together with the progress of their records. The handlers
 * are called one after the other, and what they sent is committed in one transaction.
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
    // The records behind them have no running handler either, until they are given to one.
    for (const { delivery } of slice.slice(handled.length)) delivery.onHandlerReturned();
    return this.transactions.settle(handled);
  }

  /** Handles as many records as there is time for. Stops when the partition is revoked or pauses. */
  async #handle(slice: readonly RecordCall[]): Promise<readonly HandledRecord[]> {
    const handled: HandledRecord[] = [];
    const since = this.runtime.monotonic();
    while (handled.length < slice.length) {
      // The records of a slice are all cancelled at the same time.
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
