import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import { EventBusException } from '../../errors/event-bus-exception.js';
import {
  DeserializationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { eventTypeSource, type EventTypeSource } from '../decoding/event-type-source.js';
import { UnreadableValueError } from '../decoding/unreadable-value-error.js';
import { HandlerTable } from './handler-table.js';
import { validatePayload } from './validate-payload.js';
import { isPromiseLike } from '../is-promise-like.js';
import { ReceivedContext, type ContextSource } from '../context/received-context.js';
import type { Receiver } from '../context/received-headers.js';
import { ReceivedRecord } from '../context/received-record.js';
import { schemaVersionCheck, type SchemaVersionCheck } from '../decoding/schema-version.js';
import { toError } from '../to-error.js';
import { UnknownTypeWarnings, describeType } from './unknown-type-warnings.js';

export interface PreparationOptions {
  readonly binding: ResolvedBinding;
  readonly handlers: readonly HandlerDefinition[];
  readonly deserializer: Deserializer;
  readonly tier: number;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** A record that a handler can be called with. */
export interface ReadyRecord {
  readonly kind: 'ready';
  readonly delivery: Delivery;
  readonly handler: HandlerDefinition;
  readonly record: EventRecord;
  readonly context: ReceivedContext;
}

/** Ready for its handler, or done without one. */
export type Prepared = ReadyRecord | Outcome;

const filtered: Outcome = Object.freeze({ kind: 'discarded', reason: 'filtered' });
const unknownType: Outcome = Object.freeze({ kind: 'discarded', reason: 'unknown-type' });

/** Decodes a record, finds its handler, filters and validates. Asynchronous only where a codec or a payload is. */
export class Preparation implements ContextSource {
  readonly binding: ResolvedBinding;
  readonly logger: DriverLogger;
  readonly eventTypeOf: EventTypeSource;
  readonly tier: number;
  readonly #table: HandlerTable;
  readonly #deserializer: Deserializer;
  readonly #receiver: Receiver;
  readonly #checkVersion: SchemaVersionCheck | undefined;
  readonly #unknownTypes: UnknownTypeWarnings;

  constructor({ binding, handlers, deserializer, tier, runtime, logger }: PreparationOptions) {
    this.binding = binding;
    this.tier = tier;
    this.logger = logger;
    this.eventTypeOf = eventTypeSource(binding.typeFrom);
    this.#table = new HandlerTable(handlers);
    this.#deserializer = deserializer;
    this.#receiver = { binding: binding.name, hostname: runtime.hostname() };
    this.#checkVersion = schemaVersionCheck(binding);
    this.#unknownTypes = new UnknownTypeWarnings(binding.name, logger);
  }

  /**
   * Throws, or rejects, with what is wrong with the record. For every call of its handler it is
   * prepared anew: the one before may have changed the value, and failed.
   */
  prepare(delivery: Delivery, call = 1): Prepared | Promise<Prepared> {
    const { record } = delivery;
    // A tombstone is a message of its own and no failure: nothing is decoded, nothing validated.
    if (record.value === null) return this.#dispatch(delivery, null, call);
    let value: unknown;
    try {
      value = this.#deserializer.deserialize(record.value, record);
    } catch (cause) {
      return this.#notRead(record, record.value, cause);
    }
    return isPromiseLike(value)
      ? this.#dispatchLater(delivery, value, call)
      : this.#dispatch(delivery, value, call);
  }

  async #dispatchLater(
    delivery: Delivery,
    value: PromiseLike<unknown>,
    call: number,
  ): Promise<Prepared> {
    const { record } = delivery;
    let decoded: unknown;
    try {
      decoded = await value;
    } catch (cause) {
      return this.#notRead(record, record.value!, cause);
    }
    return this.#dispatch(delivery, decoded, call);
  }

  #dispatch(delivery: Delivery, value: unknown, call: number): Prepared | Promise<Prepared> {
    const type = this.#table.isTyped ? this.eventTypeOf(delivery.record, value) : undefined;
    const handler = this.#table.find(type);
    if (!handler) return this.#unknownType(type);
    const record = new ReceivedRecord(delivery, this.#receiver, value);
    if (handler.filter && !passes(handler, handler.filter, record)) return filtered;
    if (delivery.record.value !== null)
      this.#checkVersion?.(delivery.record, value, handler.origin);
    const context = new ReceivedContext(this, delivery, value, call);
    if (handler.payload === undefined || delivery.record.value === null) {
      return { kind: 'ready', delivery, handler, record, context };
    }
    const payload = validatePayload(handler.payload, value, handler.origin);
    return isPromiseLike(payload)
      ? readyLater({ kind: 'ready', delivery, handler, record, context }, record, payload)
      : { kind: 'ready', delivery, handler, record: record.withValue(payload), context };
  }

  #unknownType(type: string | undefined): Outcome {
    switch (this.binding.unknownType) {
      case 'skip':
        this.#unknownTypes.warn(type);
        return unknownType;
      case 'fail':
        throw new UnknownEventTypeException(
          `Binding '${this.binding.name}' has no handler for ${describeType(type)}. Handle the type, add a handler without a type, or set unknownType: 'skip'.`,
        );
    }
  }

  /** An error that says that trying again can help is the world's: the record waits, and nothing is held against it. */
  #notRead(
    { topic, partition, offset }: BrokerRecord,
    bytes: Buffer,
    thrown: unknown,
  ): FailedOutcome {
    const cause = toError(thrown);
    if (cause instanceof EventBusException && cause.retriable)
      return { kind: 'failed', reason: 'redeliver', error: cause, attempts: 0 };
    const format = this.#deserializer.name;
    const reason = cause instanceof UnreadableValueError ? cause.message : undefined;
    const why = reason === undefined ? '' : `: ${reason}`;
    throw new DeserializationException(
      `The value of ${topic}-${partition}-${offset} (${bytes.length} bytes) is not the ${format} that binding '${this.binding.name}' expects${why}. Look at what its producer writes, or give the binding another deserializer.`,
      { cause, format, reason },
    );
  }
}

async function readyLater(
  ready: ReadyRecord,
  record: ReceivedRecord,
  payload: PromiseLike<unknown>,
): Promise<ReadyRecord> {
  return { ...ready, record: record.withValue(await payload) };
}

function passes(
  { origin }: HandlerDefinition,
  filter: (record: EventRecord) => unknown,
  record: EventRecord,
): boolean {
  const verdict = filter(record);
  if (!isPromiseLike(verdict)) return Boolean(verdict);
  // Nobody waits for it, and it must not become an unhandled rejection.
  verdict.then(undefined, () => undefined);
  throw new TypeError(
    `The filter of ${origin} gave a promise, which would always pass. A filter answers at once.`,
  );
}
