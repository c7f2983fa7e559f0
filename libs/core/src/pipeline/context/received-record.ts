import type { Delivery } from '../../model/outcomes/delivery.js';
import type { EventHeaders, EventRecord } from '../../model/records/event-record.js';
import { ReceivedHeaders, type Receiver } from './received-headers.js';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A record as its handler sees it. Parts of it are created at first access. */
export class ReceivedRecord<T = unknown> implements EventRecord<T> {
  readonly #delivery: Delivery;
  readonly #receiver: Receiver;
  readonly #value: T;
  #headers: ReceivedHeaders | undefined;

  constructor(delivery: Delivery, receiver: Receiver, value: T) {
    this.#delivery = delivery;
    this.#receiver = receiver;
    this.#value = value;
  }

  /** Returns the same record with the value that validation returned. */
  withValue<V>(value: V): ReceivedRecord<V> {
    return new ReceivedRecord(this.#delivery, this.#receiver, value);
  }

  get value(): T {
    return this.#value;
  }

  get key(): string | null {
    return this.#delivery.record.key?.toString('utf8') ?? null;
  }

  get topic(): string {
    return this.#delivery.record.topic;
  }

  get partition(): number {
    return this.#delivery.record.partition;
  }

  get offset(): bigint {
    return BigInt(this.#delivery.record.offset);
  }

  get timestamp(): number {
    return this.#delivery.record.timestamp;
  }

  get headers(): EventHeaders {
    return (this.#headers ??= new ReceivedHeaders(this.#delivery, this.#receiver));
  }

  /** Leaves out the payload and the values of headers, because both may be secret. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { topic, partition, key, timestamp } = this;
    return {
      topic,
      partition,
      offset: String(this.#delivery.record.offset),
      timestamp,
      key,
      headers: this.headers.names(),
    };
  }

  [INSPECT](): Readonly<Record<string, unknown>> {
    return this.toJSON();
  }
}
