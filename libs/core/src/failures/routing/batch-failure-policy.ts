import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { FailureClassification } from '../classification/binding-classifier.js';
import type { Destination } from './destination.js';

/** What `batchFailureStrategy` says about a record of a BATCH listener, before the ordinary road is looked at. */
export class BatchFailurePolicy {
  constructor(
    private readonly binding: Pick<
      ResolvedBinding,
      'listenerType' | 'batchFailureStrategy' | 'batchRedeliveries'
    >,
  ) {}

  /**
   * SEEK_TO_FAILED: reading goes back to the record, a bounded number of times, and then it goes the
   * ordinary road: a record that always fails would otherwise be read for ever.
   */
  destinationOf(
    { failures, redeliveries }: Delivery,
    { decision, isPermanent }: FailureClassification,
  ): Destination | 'stay' | undefined {
    const { listenerType, batchFailureStrategy, batchRedeliveries } = this.binding;
    if (listenerType !== 'BATCH' || decision.routing === ExceptionRouting.PAUSE_CONTAINER)
      return undefined;
    switch (batchFailureStrategy) {
      case BatchFailureStrategy.SEEK_TO_FAILED: {
        const isWorthAnother = (failures ?? redeliveries) < batchRedeliveries;
        return isWorthAnother && !isPermanent ? 'stay' : undefined;
      }
      case BatchFailureStrategy.DLQ_AND_CONTINUE:
        return isPermanent
          ? undefined
          : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'batch-failure' };
    }
  }
}
