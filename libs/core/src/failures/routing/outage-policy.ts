import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { CircuitBreaker } from '../../model/states/circuit-breaker.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import { faultOf } from '../faults/fault-of.js';

export interface OutagePolicyParts {
  readonly binding: Pick<ResolvedBinding, 'circuitBreaker'>;
  readonly breaker: Pick<CircuitBreaker, 'state'> | undefined;
}

/**
 * What the handler needs is down. Where a circuit breaker watches, it decides about that: the
 * record stays in its place, and an outage does not empty the main topic into the retry topics.
 */
export class OutagePolicy {
  constructor(private readonly parts: OutagePolicyParts) {}

  /**
   * A circuit that stays closed although this record alone has given it enough to judge by says
   * that the others are well: then it is the record's own trouble, and it goes the ordinary road.
   */
  keepsInPlace({ failures, redeliveries }: Delivery, { error, ending }: FailedOutcome): boolean {
    const { breaker, binding } = this.parts;
    if (!breaker || ending === 'circuit-open' || faultOf(error) !== 'dependency') return false;
    const deliveries = (failures ?? redeliveries) + 1;
    return breaker.state !== 'CLOSED' || deliveries < binding.circuitBreaker.minimumNumberOfCalls;
  }
}
