import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Delivery } from '../model/delivery.js';

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

/** One hand-out of one record by one lane. */
export class LaneDelivery implements Delivery {
  /** Reported as running for too long. */
  isReported = false;
  #work: LazySignal | undefined;
  #wait: LazySignal | undefined;

  constructor(
    readonly record: BrokerRecord,
    readonly redeliveries: number,
    readonly receivedAt: number,
    readonly sessionIndex: number,
  ) {}

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
