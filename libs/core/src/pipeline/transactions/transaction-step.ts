import type { Outcome } from '../../model/outcomes/outcome.js';
import type { HandlerStep, RecordSource, SliceCall } from '../dispatch/handler-step.js';
import type { ReadyRecord } from '../dispatch/preparation.js';
import type { SliceTransactions } from './slice-transactions.js';

/**
 * Inside the idempotency step: a record is marked as done after its transaction is committed, so
 * each call of a handler has a transaction of its own.
 */
export class TransactionStep implements HandlerStep {
  constructor(
    private readonly next: HandlerStep,
    private readonly transactions: Pick<SliceTransactions, 'settle'>,
  ) {}

  async invoke(ready: ReadyRecord, source: RecordSource): Promise<Outcome> {
    const { delivery } = ready;
    const outcome = await this.next.invoke(ready, source);
    const [settled = outcome] = await this.transactions.settle([{ delivery, outcome }]);
    return settled;
  }

  async invokeSlice(slice: readonly ReadyRecord[], call: SliceCall): Promise<readonly Outcome[]> {
    const outcomes = await this.next.invokeSlice(slice, call);
    return this.transactions.settle(
      outcomes.map((outcome, index) => ({ delivery: slice[index]!.delivery, outcome })),
    );
  }
}
