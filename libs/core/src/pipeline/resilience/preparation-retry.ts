import type { Runtime } from '@nest-event-bus/broker/runtime';
import { isBadMessage } from '../../failures/faults/bad-messages.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { RecordSource } from '../dispatch/handler-step.js';
import type { Prepared } from '../dispatch/preparation.js';
import { failedWith } from '../to-error.js';
import { StopRetrying } from './stop-retrying.js';
import { DeliveryRetry } from './delivery-retry.js';
import type { RetryConfig } from './retry-config-factory.js';

/**
 * A rule of a payload may ask a database, and that may be down: then the record is prepared again, as
 * often and with the same waits as its handler would be called. No claim is held meanwhile, and the
 * circuit, which is about the handler, does not hear of it.
 */
export class PreparationRetry {
  constructor(
    private readonly config: RetryConfig,
    private readonly source: RecordSource,
    private readonly runtime: Runtime,
  ) {}

  /** After its first preparation has failed. Never throws or rejects; a promise unless the message is bad. */
  retryAfter(firstError: unknown, delivery: Delivery): Prepared | Promise<Prepared> {
    return isBadMessage(firstError)
      ? failedWith(firstError)
      : this.#prepareAgain(firstError, delivery);
  }

  async #prepareAgain(firstError: unknown, delivery: Delivery): Promise<Prepared> {
    try {
      return await new DeliveryRetry(this.config, delivery, this.runtime).execute(({ attempt }) => {
        if (attempt === 1) throw firstError;
        // Its handler was never called: what is prepared is for the first call.
        return this.source.prepare(delivery, 1);
      });
    } catch (error) {
      return error instanceof StopRetrying ? error.outcome : failedWith(error);
    }
  }
}
