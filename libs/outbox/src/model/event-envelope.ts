import { IllegalArgumentError } from '../errors/argument-errors.js';
import { realRuntime } from '../runtime/real-runtime.js';
import { AggregateType, nameOfAggregateType } from './aggregate-type.js';
import { checkedName, nameOfEventType, type EventType } from './event-type.js';
import { checkedHeaders, type HeadersInput } from './headers.js';
import { checkedPayload, type PayloadInput } from './payload.js';
import { MonotonicUlid } from './ulid.js';

const MAX_ID_LENGTH = 36;
const MAX_AGGREGATE_ID_LENGTH = 128;
const MAX_TENANT_ID_LENGTH = 64;

const ids = new MonotonicUlid(realRuntime);

export interface EventEnvelopeInput extends PayloadInput {
  readonly eventType: EventType | string;
  /** Default: a new monotonic ULID. */
  readonly eventId?: string | null;
  /** Milliseconds since 1970. Default: now. */
  readonly occurredAt?: number | Date | null;
  /** Default: `AggregateType.GLOBAL`. */
  readonly aggregateType?: AggregateType | string | null;
  readonly aggregateId?: string | null;
  readonly tenantId?: string | null;
  readonly headers?: HeadersInput | null;
}

/** An event as it is written and as its listener gets it. Nothing can change it. */
export class EventEnvelope {
  readonly eventId: string;
  readonly eventType: string;
  /** Milliseconds since 1970. */
  readonly occurredAt: number;
  readonly aggregateType: string;
  readonly aggregateId: string | null;
  readonly tenantId: string | null;
  readonly #headers: ReadonlyMap<string, string>;
  /** The payload is serialized once. The store and the listener get the same text or bytes. */
  readonly #payload: string | Uint8Array;

  /** `isStored` skips the check of JSON that a database has accepted before. */
  constructor(input: EventEnvelopeInput, isStored = false) {
    this.eventType = nameOfEventType(input.eventType);
    this.eventId = checkedName('event id', input.eventId ?? ids.next(), MAX_ID_LENGTH);
    this.occurredAt = checkedTime(input.occurredAt ?? realRuntime.now());
    this.aggregateType = nameOfAggregateType(input.aggregateType ?? AggregateType.GLOBAL);
    this.aggregateId = optionalName('aggregate id', input.aggregateId, MAX_AGGREGATE_ID_LENGTH);
    this.tenantId = optionalName('tenant id', input.tenantId, MAX_TENANT_ID_LENGTH);
    this.#headers = checkedHeaders(input.headers);
    this.#payload = checkedPayload(input, isStored);
    Object.freeze(this);
  }

  /** Returns a copy with other headers. The payload is the same, and is not serialized again. */
  withHeaders(headers: HeadersInput): EventEnvelope {
    const { eventId, eventType, occurredAt, aggregateType, aggregateId, tenantId } = this;
    const payload =
      typeof this.#payload === 'string'
        ? { payloadJson: this.#payload }
        : { payloadBinary: this.#payload };
    return new EventEnvelope(
      { eventId, eventType, occurredAt, aggregateType, aggregateId, tenantId, headers, ...payload },
      true,
    );
  }

  static builder(type: EventType | string): EventEnvelopeBuilder {
    return new EventEnvelopeBuilder(type);
  }

  static ofJson(type: EventType | string, payloadJson: string): EventEnvelope {
    return new EventEnvelope({ eventType: type, payloadJson });
  }

  /** A copy of the headers. */
  get headers(): ReadonlyMap<string, string> {
    return new Map(this.#headers);
  }

  /** The JSON text of the payload; null if the payload is binary. */
  get payloadJson(): string | null {
    return typeof this.#payload === 'string' ? this.#payload : null;
  }

  /** A copy of the bytes of the payload. */
  get payloadBytes(): Uint8Array {
    return typeof this.#payload === 'string'
      ? new TextEncoder().encode(this.#payload)
      : this.#payload.slice();
  }

  get isBinary(): boolean {
    return typeof this.#payload !== 'string';
  }

  /** Events with the same key keep their order in leased mode. Null without an aggregate id. */
  get orderKey(): string | null {
    return this.aggregateId === null ? null : orderKeyOf(this.aggregateType, this.aggregateId);
  }
}

export const orderKeyOf = (aggregateType: AggregateType | string, aggregateId: string): string =>
  `${nameOfAggregateType(aggregateType)}:${aggregateId}`;

function optionalName(what: string, value: string | null | undefined, max: number): string | null {
  return value === undefined || value === null ? null : checkedName(what, value, max);
}

function checkedTime(time: number | Date): number {
  const ms = Number(time);
  if (!Number.isInteger(ms))
    throw new IllegalArgumentError(
      'occurredAt is not a time. Pass a Date or whole milliseconds since 1970.',
    );
  return ms;
}

/** Collects the values of an envelope. `build()` checks them. */
export class EventEnvelopeBuilder {
  #input: EventEnvelopeInput;

  constructor(eventType: EventType | string) {
    this.#input = { eventType };
  }

  eventId(eventId: string): this {
    return this.#with({ eventId });
  }

  occurredAt(occurredAt: number | Date): this {
    return this.#with({ occurredAt });
  }

  aggregateType(aggregateType: AggregateType | string): this {
    return this.#with({ aggregateType });
  }

  aggregateId(aggregateId: string): this {
    return this.#with({ aggregateId });
  }

  tenantId(tenantId: string): this {
    return this.#with({ tenantId });
  }

  headers(headers: HeadersInput): this {
    return this.#with({ headers });
  }

  payloadJson(payloadJson: string): this {
    return this.#with({ payloadJson });
  }

  payloadBytes(payloadBytes: Uint8Array): this {
    return this.#with({ payloadBytes });
  }

  payloadBinary(payloadBinary: Uint8Array): this {
    return this.#with({ payloadBinary });
  }

  build(): EventEnvelope {
    return new EventEnvelope(this.#input);
  }

  #with(input: Partial<EventEnvelopeInput>): this {
    this.#input = { ...this.#input, ...input };
    return this;
  }
}
