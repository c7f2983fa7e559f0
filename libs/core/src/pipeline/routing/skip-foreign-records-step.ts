import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Outcome, SliceOutcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import type { RetryTopicRules } from './failure-routing-step.js';

const foreign: Outcome = Object.freeze({ kind: 'discarded', reason: 'foreign' });

/**
 * Discards records of a shared retry topic that are meant for another group. The step is the
 * outermost one, because neither the handler nor the router of this binding may get such a record.
 */
export class SkipForeignRecordsStep implements PipelineStep<SliceOutcome> {
  constructor(
    private readonly next: PipelineStep<SliceOutcome>,
    private readonly rules: Pick<RetryTopicRules, 'isForeign'>,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    return this.#isForeign(call.delivery.record) ? foreign : this.next.process(call);
  }

  /**
   * Processes the records before the next foreign one. If the slice begins with a foreign record,
   * processes only that one.
   */
  processSlice(
    slice: readonly RecordCall[],
  ): readonly SliceOutcome[] | Promise<readonly SliceOutcome[]> {
    const end = slice.findIndex(({ delivery }) => this.#isForeign(delivery.record));
    if (end === 0) return [foreign];
    return this.next.processSlice(end === -1 ? slice : slice.slice(0, end));
  }

  #isForeign(record: BrokerRecord): boolean {
    return this.rules.isForeign(record);
  }
}
