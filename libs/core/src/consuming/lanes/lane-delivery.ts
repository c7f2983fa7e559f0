import type { BrokerRecord } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import type { DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Assignment } from '../../model/records/assignment.js';

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

  get isAborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** One hand-out of one record by one lane. */
export class LaneDelivery implements Delivery {
  /** How often it was reported as running for too long. */
  reports = 0;
  /** Read-only for others: `readyAt` sets it. */
  receivedAt: number;
  /** Read-only for others: `readyAt` sets it. */
  readySince = -Infinity;
  #startedAt: number | undefined;
  #records = 1;
  #trouble: Error | undefined;
  #hasEnded = false;
  #work: LazySignal | undefined;
  #wait: LazySignal | undefined;
  #ended: Deferred | undefined;

  constructor(
    readonly record: BrokerRecord,
    readonly history: DeliveryHistory,
    receivedAt: number,
    readonly sessionIndex: number,
    readonly assignment: Assignment | undefined,
  ) {
    this.receivedAt = receivedAt;
  }

  /** When its handler began, by the monotonic clock; undefined for one that has answered. */
  get startedAt(): number | undefined {
    return this.#startedAt;
  }

  /** It could not be handed out before this time, nor, by the monotonic clock, before `since`. */
  readyAt(time: number, since: number): void {
    if (time > this.receivedAt) this.receivedAt = time;
    if (since > this.readySince) this.readySince = since;
  }

  /** Its handler has not answered at once. `records`: how many it has; 0 for those that it has besides the first. */
  begin(now: number, records = 1): void {
    this.#startedAt = now;
    this.#records = records;
    this.#trouble = undefined;
  }

  onHandlerReturned(trouble?: Error): void {
    this.#startedAt = undefined;
    this.#trouble = trouble;
  }

  /** What keeps it from being over, although its handler has answered. */
  get trouble(): Error | undefined {
    return this.#trouble;
  }

  get records(): number {
    return this.#records;
  }

  end(): void {
    this.#hasEnded = true;
    this.#ended?.resolve();
  }

  /** What became of it is known. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Nothing that has not begun with it is to begin any more. */
  get isCancelled(): boolean {
    return this.#wait?.isAborted === true || this.assignment?.holdsLease === false;
  }

  whenEnded(): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return (this.#ended ??= new Deferred()).promise;
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

/** Where in the log its record is. */
export function placeOf({ record: { topic, partition, offset } }: LaneDelivery) {
  return { topic, partition, offset };
}
