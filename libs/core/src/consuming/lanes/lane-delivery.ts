import type { BrokerRecord } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import type { DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Assignment } from '../../model/records/assignment.js';

/**
 * Creates its abort signal when it is first read: an AbortController costs more than everything
 * else in a delivery.
 */
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

/**
 * A record that a lane has handed to the pipeline. Each delivery of the record is another object.
 */
export class LaneDelivery implements Delivery {
  /** Number of warnings that the handler runs for too long. */
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

  /** Start of the handler by the monotonic clock; undefined after the handler has returned. */
  get startedAt(): number | undefined {
    return this.#startedAt;
  }

  /**
   * Sets the earliest time at which the record could be handed out. `since` is the same time by the
   * monotonic clock.
   */
  readyAt(time: number, since: number): void {
    if (time > this.receivedAt) this.receivedAt = time;
    if (since > this.readySince) this.readySince = since;
  }

  /**
   * Marks the handler as running, because it returned a promise. `records` is the size of a batch
   * for its first record, and 0 for its other records.
   */
  begin(now: number, records = 1): void {
    this.#startedAt = now;
    this.#records = records;
    this.#trouble = undefined;
  }

  onHandlerReturned(trouble?: Error): void {
    this.#startedAt = undefined;
    this.#trouble = trouble;
  }

  /** The error that delays the completion of the record after its handler has returned. */
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

  /** Says whether the delivery has an outcome. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Returns whether no further step of the delivery may begin, because its waits were aborted. */
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

/** Position of the record in the log. */
export function placeOf({ record: { topic, partition, offset } }: LaneDelivery) {
  return { topic, partition, offset };
}
