import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { DeliveryAttempt, EventContext } from '../../model/records/event-context.js';
import { DeadLetterRequestedException } from '../../errors/handler-errors.js';
import { throwIfFailed } from '../../errors/result-errors.js';
import { isConsumerResult } from '../../model/outcomes/consumer-result.js';
import { TransactionException } from '../../errors/transaction-errors.js';
import { handedBack, succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import type { RecordLog } from '../../model/records/record-log.js';
import type { RecordTransaction } from '../../model/records/record-transaction.js';
import { dedupKeyOf } from './dedup-key.js';
import { deliveryAttempt } from './delivery-attempt.js';
import type { RecordCall } from '../record-call.js';
import type { EventTypeSource } from '../decoding/event-type-source.js';
import { copyRecord } from './copy-record.js';
import type { HandlerProblems } from './handler-problems.js';
import { positionOf, RecordLogger } from './record-logger.js';
import type { LogContexts } from '../logging/log-contexts.js';
import { RecordOutputs } from '../transactions/record-outputs.js';

/** Data that the contexts of all records of a binding share. */
export interface ContextSource {
  readonly binding: ResolvedBinding;
  readonly logger: DriverLogger;
  readonly eventTypeOf: EventTypeSource;
  readonly problems: HandlerProblems;
  /** The tier of the topic from which the records come; 0 for the main topic. */
  readonly tier: number;
  /** Absent if `logContext` is disabled. */
  readonly logContexts?: LogContexts | undefined;
}

/**
 * Outcome of a record whose handler throws after acknowledge(). It is neither a success nor a
 * failure.
 */
const acknowledged: Outcome = Object.freeze({ kind: 'discarded', reason: 'acknowledged' });

/** The context of one handler call. Parts of it are created when they are first read. */
export class ReceivedContext implements EventContext {
  readonly #source: ContextSource;
  readonly #delivery: Delivery;
  readonly #received: BrokerRecord;
  readonly #value: unknown;
  readonly #call: number;
  #log: RecordLog | undefined;
  #raw: BrokerRecord | undefined;
  #outputs: RecordOutputs | undefined;
  #outcome: Outcome | undefined;
  #isClosed = false;

  /**
   * Creates the context of one call. Each call has its own context, so that a late callback of an
   * earlier call cannot change the outcome.
   */
  constructor(
    source: ContextSource,
    {
      delivery,
      received,
      value,
      number,
    }: Pick<RecordCall, 'delivery' | 'received' | 'value' | 'number'>,
  ) {
    this.#source = source;
    this.#delivery = delivery;
    this.#received = received;
    this.#value = value;
    this.#call = number;
  }

  /** Returns the context of another call of the same delivery. */
  renewed(call: RecordCall): ReceivedContext {
    return new ReceivedContext(this.#source, call);
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
    return this.#source.eventTypeOf(this.#received, this.#value);
  }

  get attempt(): DeliveryAttempt {
    return deliveryAttempt(this.#delivery, this.#source.tier, this.#call);
  }

  get dedupKey(): string {
    return dedupKeyOf(this.#delivery.record, this.#source.tier);
  }

  get signal(): AbortSignal {
    return this.#delivery.signal;
  }

  get log(): RecordLog {
    return (this.#log ??= this.#createLog());
  }

  get raw(): BrokerRecord {
    return (this.#raw ??= copyRecord(this.#received));
  }

  get transaction(): RecordTransaction {
    if (this.#outputs) return this.#outputs;
    const { name, transactions } = this.#source.binding;
    if (!transactions.enabled)
      throw new TransactionException(
        `Binding '${name}' has no transactions: set transactions: { enabled: true }, or publish with EventPublisher.`,
        false,
      );
    return (this.#outputs = new RecordOutputs(() => this.#isClosed));
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

  /**
   * Returns the outcome after the handler returned `answer`. Later calls of context methods do not
   * change it. Throws if the answer says that the handler failed.
   */
  outcomeAfterReturn(answer: unknown): Outcome {
    if (answer !== undefined) this.examine(answer);
    this.#isClosed = true;
    if (this.#outcome && this.#outcome !== acknowledged) return this.#outcome;
    if (!this.#outcome && this.#source.binding.ack === 'manual') return this.#notAcknowledged();
    return this.#outputs ? withOutputs(succeeded, this.#outputs) : succeeded;
  }

  /** Throws if the answer is a failure result, and reports answers that are probably mistakes. */
  examine(answer: unknown): void {
    if (isConsumerResult(answer)) throwIfFailed(answer);
    else this.#source.problems.examine(answer);
  }

  get problems(): HandlerProblems {
    return this.#source.problems;
  }

  #createLog(): RecordLog {
    const { logger, logContexts: contexts } = this.#source;
    const delivery = this.#delivery;
    const call = { delivery, received: this.#received, number: this.#call };
    const scope = contexts && { contexts, context: contexts.ofCall(call) };
    return new RecordLogger(logger, positionOf(this.binding, delivery.record), scope);
  }

  /** Reports nothing the first time, because the handler may rely on another delivery. */
  #notAcknowledged(): Outcome {
    if (this.#delivery.history.redeliveries > 0) this.#source.problems.notAcknowledged();
    return handedBack;
  }

  /**
   * Returns the outcome after the handler threw; undefined if the error decides. A handBack()
   * before the error has no effect.
   */
  outcomeAfterThrow(): Outcome | undefined {
    this.#isClosed = true;
    if (this.#outcome === acknowledged)
      return this.#outputs ? withOutputs(acknowledged, this.#outputs) : acknowledged;
    return this.#outcome?.kind === 'handed-back' ? undefined : this.#outcome;
  }

  /** Keeps the last outcome that the handler chose, but never replaces an acknowledgement. */
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

function withOutputs(outcome: Outcome, { records }: RecordOutputs): Outcome {
  return records.length === 0 ? outcome : ({ ...outcome, outputs: records } as Outcome);
}
