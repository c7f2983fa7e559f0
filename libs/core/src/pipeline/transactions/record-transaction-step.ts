import type { Outcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import type { SliceTransactions } from './slice-transactions.js';

/**
 * Commits a transaction for each call of a handler. The step is inside the idempotency step,
 * because a record may be marked as done only after its transaction is committed.
 */
export class RecordTransactionStep implements PipelineStep {
  constructor(
    private readonly next: PipelineStep,
    private readonly transactions: Pick<SliceTransactions, 'settle'>,
  ) {}

  async process(call: RecordCall): Promise<Outcome> {
    const { delivery } = call;
    const outcome = await this.next.process(call);
    const [settled = outcome] = await this.transactions.settle([{ delivery, outcome }]);
    return settled;
  }

  async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
    const outcomes = await this.next.processSlice(slice);
    return this.transactions.settle(
      outcomes.map((outcome, index) => ({ delivery: slice[index]!.delivery, outcome })),
    );
  }
}
