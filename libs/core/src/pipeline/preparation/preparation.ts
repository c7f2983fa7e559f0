import type { Runtime } from '@nest-event-bus/broker/runtime';
import { isBadMessage } from '../../failures/faults/bad-messages.js';
import { isPromiseLike } from '../and-then.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { DeliveryRetry } from '../resilience/delivery-retry.js';
import type { RetryConfig } from '../resilience/retry-config-factory.js';
import { handedBack } from '../../model/outcomes/outcome.js';
import { isStopRetrying } from '../resilience/stop-retrying.js';
import { failedWith } from '../to-error.js';

export interface PreparationOptions {
  readonly steps: readonly PreparationStep[];
  readonly retry: RetryConfig;
  readonly runtime: Runtime;
}

/** Runs the preparation steps of a record, before each call of its handler. */
export class Preparation {
  readonly #steps: readonly PreparationStep[];
  readonly #retry: RetryConfig;
  readonly #runtime: Runtime;

  constructor({ steps, retry, runtime }: PreparationOptions) {
    this.#steps = steps;
    this.#retry = retry;
    this.#runtime = runtime;
  }

  /**
   * Runs the steps, from `firstStep` on. Throws or rejects if something is wrong with the record.
   * Returns a promise only if a step does.
   */
  prepare(call: RecordCall, firstStep = 0): Prepared | Promise<Prepared> {
    for (let index = firstStep; index < this.#steps.length; index++) {
      const prepared = this.#steps[index]!(call);
      if (prepared === undefined) continue;
      return isPromiseLike(prepared) ? this.#continueAfter(prepared, call, index + 1) : prepared;
    }
    return undefined;
  }

  #continueAfter(
    pending: Promise<Prepared>,
    call: RecordCall,
    nextStep: number,
  ): Promise<Prepared> {
    if (nextStep === this.#steps.length) return pending;
    return pending.then((prepared) => prepared ?? this.prepare(call, nextStep));
  }

  /**
   * Repeats the preparation before the first handler call. A filter or a validation may use a
   * database that is down. The preparation then has as many attempts and the same waits as handler
   * calls. No idempotency claim is held during that time, and the circuit breaker does not count
   * these attempts, because it only counts handler calls. Never throws or rejects.
   */
  prepareAgain(firstError: unknown, call: RecordCall): Prepared | Promise<Prepared> {
    return isBadMessage(firstError) ? failedWith(firstError) : this.#retryAfter(firstError, call);
  }

  async #retryAfter(firstError: unknown, call: RecordCall): Promise<Prepared> {
    try {
      const retry = new DeliveryRetry(this.#retry, call.delivery, this.#runtime);
      return await retry.execute(({ attempt }) => {
        if (attempt === 1) throw firstError;
        return this.prepare(call);
      });
    } catch (error) {
      if (!isStopRetrying(error)) return failedWith(error);
      // An attempt to prepare the record is no call of the handler.
      return error.outcome.kind === 'handed-back' ? handedBack : error.outcome;
    }
  }
}
