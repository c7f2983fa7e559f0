import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import type { Delivery } from '../model/delivery.js';
import type { DeliveryAttempt, EventContext } from '../model/event-context.js';
import { succeeded, type Outcome } from '../model/outcome.js';
import { dedupKeyOf } from './dedup-key.js';
import type { EventTypeSource } from './event-type-source.js';
import { rawCopy } from './raw-copy.js';
import { RecordLogger } from './record-logger.js';

/** What the contexts of all records of a binding share. */
export interface ContextSource {
  readonly binding: ResolvedBinding;
  readonly logger: DriverLogger;
  readonly eventTypeOf: EventTypeSource;
}

/** The context of one delivery. What nobody asks for is never made. */
export class ReceivedContext implements EventContext {
  readonly #source: ContextSource;
  readonly #delivery: Delivery;
  readonly #value: unknown;
  readonly #call: number;
  #log: RecordLogger | undefined;
  #raw: BrokerRecord | undefined;
  #outcome: Outcome = succeeded;
  #isSettled = false;

  /** Each call of the handler has a context of its own: what is left of an earlier one has no say in it. */
  constructor(source: ContextSource, delivery: Delivery, value: unknown, call = 1) {
    this.#source = source;
    this.#delivery = delivery;
    this.#value = value;
    this.#call = call;
  }

  get binding(): string {
    return this.#source.binding.name;
  }

  get cluster(): string {
    return this.#source.binding.cluster;
  }

  get groupId(): string {
    return this.#source.binding.groupId;
  }

  get eventType(): string | undefined {
    return this.#source.eventTypeOf(this.#delivery.record, this.#value);
  }

  /** Without retry tiers all of them are on the main topic. What was handed back is no attempt. */
  get attempt(): DeliveryAttempt {
    const { redeliveries, failures = redeliveries, calls = failures } = this.#delivery;
    return { call: this.#call, delivery: failures + 1, tier: 0, total: calls + this.#call };
  }

  get dedupKey(): string {
    return dedupKeyOf(this.#delivery.record);
  }

  get signal(): AbortSignal {
    return this.#delivery.signal;
  }

  get log(): DriverLogger {
    return (this.#log ??= new RecordLogger(
      this.#source.logger,
      this.binding,
      this.#delivery.record,
    ));
  }

  get raw(): BrokerRecord {
    return (this.#raw ??= rawCopy(this.#delivery.record));
  }

  handBack({ delayMs }: { readonly delayMs?: number } = {}): void {
    if (delayMs !== undefined && !(Number.isFinite(delayMs) && delayMs >= 0)) {
      throw new RangeError(`handBack({ delayMs }) takes milliseconds from 0 on, not ${delayMs}.`);
    }
    if (this.#isSettled) {
      this.log.warn('handBack() came after the handler had returned: it has no effect any more.');
      return;
    }
    this.#outcome = { kind: 'handed-back', delayMs };
  }

  /** What the handler that returned has made of its record. Nothing changes it afterwards. */
  settle(): Outcome {
    this.#isSettled = true;
    return this.#outcome;
  }
}
