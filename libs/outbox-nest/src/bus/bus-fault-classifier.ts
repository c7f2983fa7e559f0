import { EventPublishException, faultOf } from '@nest-event-bus/core';
import type { FaultClassifier, FaultKind } from '@nest-event-bus/outbox';

/** Tells outages with the rules of the bus: for the mode `leased`, as `leased.faultClassifier`. */
export class BusFaultClassifier implements FaultClassifier {
  classify(error: Error): FaultKind {
    if (error instanceof EventPublishException) return error.retriable ? 'outage' : 'event';
    return faultOf(error) === 'dependency' ? 'outage' : 'event';
  }
}
