import type { EventHeaders, EventRecord } from '../../model/records/event-record.js';
import { keyText, printedKey, type RecordKey } from '../../model/records/record-key.js';
import { ReceivedHeaders, type ReceivedSource, type Receiver } from './received-headers.js';

/** Copies bytes, so that a handler that writes into them does not change the record. */
const textOrBytes = (key: Buffer | null): RecordKey => key && (keyText(key) ?? Buffer.from(key));

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A record as its handler sees it. Parts of it are created when they are first read. */
export class ReceivedRecord<T = unknown, K = RecordKey> implements EventRecord<T, K> {
  readonly #source: ReceivedSource;
  readonly #receiver: Receiver;
  readonly #value: T;
  #isRead = false;
  #isReplaced = false;
  #key: RecordKey | undefined;
  #headers: ReceivedHeaders | undefined;

  constructor(source: ReceivedSource, receiver: Receiver, value: T) {
    this.#source = source;
    this.#receiver = receiver;
    this.#value = value;
  }

  /** Returns the same record with the value from the validation. */
  withValue<V>(value: V): ReceivedRecord<V, K> {
    return new ReceivedRecord(this.#source, this.#receiver, value);
  }

  /**
   * Returns the record for another call, if nothing has read what a handler could change. A handler
   * that reads this record later gets a copy of the value.
   */
  replaceUnread(): ReceivedRecord<T, K> | undefined {
    if (this.#isRead) return undefined;
    this.#isReplaced = true;
    return this.withValue(this.#value);
  }

  get value(): T {
    this.#isRead = true;
    return this.#isReplaced ? copyOf(this.#value) : this.#value;
  }

  get key(): K {
    this.#isRead = true;
    const { decodedKey, received } = this.#source;
    return (decodedKey ? decodedKey.key : (this.#key ??= textOrBytes(received.key))) as K;
  }

  get topic(): string {
    return this.#source.received.topic;
  }

  get partition(): number {
    return this.#source.received.partition;
  }

  get offset(): bigint {
    return BigInt(this.#source.received.offset);
  }

  get timestamp(): number {
    return this.#source.received.timestamp;
  }

  get headers(): EventHeaders {
    return (this.#headers ??= new ReceivedHeaders(this.#source, this.#receiver));
  }

  /** Omits the payload and the values of headers, because both may be secret. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { topic, partition, timestamp } = this;
    return {
      topic,
      partition,
      offset: String(this.#source.received.offset),
      timestamp,
      key: printedKey(this.#source.received.key),
      headers: this.headers.names(),
    };
  }

  [INSPECT](): Readonly<Record<string, unknown>> {
    return this.toJSON();
  }
}

/** Values that cannot be cloned have functions, and are no plain data. */
function copyOf<T>(value: T): T {
  try {
    return structuredClone(value);
  } catch {
    return value;
  }
}
