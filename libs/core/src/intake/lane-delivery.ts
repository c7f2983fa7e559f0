import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Delivery } from '../model/delivery.js';
import type { FailedOutcome } from '../model/outcome.js';

/** A signal that costs nothing until somebody asks for it: an AbortController takes longer than all the rest of a delivery. */
class LazySignal {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** What became of the earlier hand-outs of a record. */
export interface Past {
  readonly redeliveries: number;
  readonly failures: number;
  readonly calls: number;
}

export const NO_PAST: Past = Object.freeze({ redeliveries: 0, failures: 0, calls: 0 });

/** One hand-out of one record by one lane. */
export class LaneDelivery implements Delivery {
  /** Reported as running for too long. */
  isReported = false;
  #work: LazySignal | undefined;
  #wait: LazySignal | undefined;

  constructor(
    readonly record: BrokerRecord,
    private readonly past: Past,
    readonly receivedAt: number,
    readonly sessionIndex: number,
  ) {}

  get redeliveries(): number {
    return this.past.redeliveries;
  }

  get failures(): number {
    return this.past.failures;
  }

  get calls(): number {
    return this.past.calls;
  }

  /** For the next hand-out, after this one failed; or was handed back, which is no attempt. */
  after(failure?: FailedOutcome): Past {
    const { redeliveries, failures, calls } = this.past;
    if (!failure) return { redeliveries: redeliveries + 1, failures, calls };
    return {
      redeliveries: redeliveries + 1,
      failures: failures + 1,
      calls: calls + (failure.attempts ?? 1),
    };
  }

  get signal(): AbortSignal {
    return (this.#work ??= new LazySignal()).signal;
  }

  get waitSignal(): AbortSignal {
    return (this.#wait ??= new LazySignal()).signal;
  }

  abort(reason: Error): void {
    this.abortWaits(reason);
    (this.#work ??= new LazySignal()).abort(reason);
  }

  abortWaits(reason: Error): void {
    (this.#wait ??= new LazySignal()).abort(reason);
  }
}
