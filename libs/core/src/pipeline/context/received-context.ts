import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { DeliveryAttempt, EventContext } from '../../model/records/event-context.js';
import { DeadLetterRequestedException } from '../../errors/handler-errors.js';
import { TransactionException } from '../../errors/transaction-errors.js';
import { handedBack, succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import type { RecordTransaction } from '../../model/records/record-transaction.js';
import { readRetryHistory } from '../../model/records/retry-history.js';
import { dedupKeyOf } from './dedup-key.js';
import type { EventTypeSource } from '../decoding/event-type-source.js';
import { copyRecord } from './copy-record.js';
import { RecordLogger } from './record-logger.js';
import { RecordOutputs } from '../transactions/record-outputs.js';

/** What the contexts of all records of a binding share. */
export interface ContextSource {
  readonly binding: ResolvedBinding;
  readonly logger: DriverLogger;
  readonly eventTypeOf: EventTypeSource;
  /** Where the records come from: 0 is the main topic. */
  readonly tier: number;
}

/** Where the handler throws after it, the record is neither a success nor a failure. */
const acknowledged: Outcome = Object.freeze({ kind: 'discarded', reason: 'acknowledged' });

/** The context of one delivery. What nobody asks for is never made. */
export class ReceivedContext implements EventContext {
  readonly #source: ContextSource;
  readonly #delivery: Delivery;
  readonly #value: unknown;
  readonly #call: number;
  #log: RecordLogger | undefined;
  #raw: BrokerRecord | undefined;
  #outputs: RecordOutputs | undefined;
  #outcome: Outcome | undefined;
  #isClosed = false;

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

  /** What was handed back is no attempt. In a tier each hop is a delivery, and its record tells of those before. */
  get attempt(): DeliveryAttempt {
    const { record, history } = this.#delivery;
    const { failures, calls } = history;
    const { tier } = this.#source;
    const call = this.#call;
    if (tier === 0) return { call, delivery: failures + 1, tier, total: calls + call };
    const { delivery, totalAttempts } = readRetryHistory(record, tier);
    return { call, delivery, tier, total: totalAttempts + calls + call };
  }

  get dedupKey(): string {
    return dedupKeyOf(this.#delivery.record, this.#source.tier);
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
    return (this.#raw ??= copyRecord(this.#delivery.record));
  }

  get transaction(): RecordTransaction {
    if (this.#outputs) return this.#outputs;
    const { name, transactions } = this.#source.binding;
    if (!transactions.enabled)
      throw new TransactionException(
        `Binding '${name}' has no transactions: set transactions: { enabled: true }, or publish with EventPublisher.`,
        false,
      );
    this.#outputs = new RecordOutputs();
    if (this.#isClosed) this.#outputs.close();
    return this.#outputs;
  }

  acknowledge(): void {
    this.#setOutcome('acknowledge()', acknowledged);
  }

  deadLetter(reason = 'The handler gave the record up.'): void {
    const error = new DeadLetterRequestedException(reason);
    const attempts = this.#call;
    this.#setOutcome('deadLetter()', {
      kind: 'failed',
      reason: 'handler-gave-up',
      error,
      attempts,
    });
  }

  handBack({ delayMs }: { readonly delayMs?: number } = {}): void {
    if (delayMs !== undefined && !(Number.isFinite(delayMs) && delayMs >= 0)) {
      throw new RangeError(`handBack({ delayMs }) takes milliseconds from 0 on, not ${delayMs}.`);
    }
    this.#setOutcome('handBack()', { kind: 'handed-back', delayMs });
  }

  /** What the handler that returned has made of its record. Nothing changes it afterwards. */
  outcomeAfterReturn(): Outcome {
    this.#close();
    if (this.#outcome === acknowledged) return this.#withOutputs(succeeded);
    if (this.#outcome) return this.#outcome;
    return this.#source.binding.ack === 'manual' ? handedBack : this.#withOutputs(succeeded);
  }

  /** The same for one that threw: undefined where the error decides. A record that was to be given back is not, after a failure. */
  outcomeAfterThrow(): Outcome | undefined {
    this.#close();
    if (this.#outcome === acknowledged) return this.#withOutputs(acknowledged);
    return this.#outcome?.kind === 'handed-back' ? undefined : this.#outcome;
  }

  #close(): void {
    this.#isClosed = true;
    this.#outputs?.close();
  }

  #withOutputs(outcome: Outcome): Outcome {
    const outputs = this.#outputs?.records ?? [];
    return outputs.length === 0 ? outcome : ({ ...outcome, outputs } as Outcome);
  }

  /** The last word counts, but nothing takes an acknowledgement back. */
  #setOutcome(word: string, outcome: Outcome): void {
    if (this.#isClosed) {
      this.log.warn(`${word} came after the handler had returned: it has no effect any more.`);
      return;
    }
    if (this.#outcome === acknowledged) {
      if (outcome !== acknowledged)
        this.log.warn(`${word} came after acknowledge(): the record counts as done.`);
      return;
    }
    this.#outcome = outcome;
  }
}
