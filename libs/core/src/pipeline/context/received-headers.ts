import type { RecordHeader } from '@nest-event-bus/broker';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { RecordCall } from '../record-call.js';
import type { EventHeaders } from '../../model/records/event-record.js';
import { headerText } from '../../model/records/header-text.js';

/** The consumer that received the records of a binding. */
export interface Receiver {
  readonly binding: string;
  readonly hostname: string;
}

/** A record as the application sees it, and the delivery that brought it. */
export type ReceivedSource = Pick<RecordCall, 'delivery' | 'received' | 'decodedKey'>;

const ADDED: readonly string[] = [
  'x-eventbus-binding-name',
  'x-eventbus-received-timestamp',
  'x-eventbus-consumer-instance',
];

/**
 * The headers of the record, with headers about this consumer. The latter replace those of an
 * earlier consumer.
 */
export class ReceivedHeaders implements EventHeaders {
  readonly #headers: readonly RecordHeader[];
  readonly #delivery: Delivery;
  readonly #receiver: Receiver;

  constructor({ delivery, received }: ReceivedSource, receiver: Receiver) {
    this.#headers = received.headers;
    this.#delivery = delivery;
    this.#receiver = receiver;
  }

  get(name: string): string | undefined {
    return this.#addedValue(name) ?? headerText(this.#headers, name);
  }

  getAll(name: string): readonly string[] {
    const added = this.#addedValue(name);
    if (added !== undefined) return [added];
    return this.#headers.flatMap(({ key, value }) =>
      key === name && value !== null ? [value.toString('utf8')] : [],
    );
  }

  has(name: string): boolean {
    return ADDED.includes(name) || this.#headers.some(({ key }) => key === name);
  }

  names(): readonly string[] {
    return [...new Set([...this.#headers.map(({ key }) => key), ...ADDED])];
  }

  toJSON(): Readonly<Record<string, string | readonly string[]>> {
    return Object.fromEntries(
      this.names().map((name) => {
        const values = this.getAll(name);
        return [name, values.length === 1 ? values[0]! : values];
      }),
    );
  }

  #addedValue(name: string): string | undefined {
    switch (ADDED.indexOf(name)) {
      case 0:
        return this.#receiver.binding;
      case 1:
        return String(this.#delivery.receivedAt);
      case 2:
        return `${this.#receiver.hostname}-${this.#delivery.sessionIndex}`;
      default:
        return undefined;
    }
  }
}
