import type { RecordHeader } from '@nest-event-bus/broker';
import type {
  LogFields,
  RecordLogContext,
  RecordLogFields,
} from '../../logging/record-log-context.js';
import { headerText } from '../../model/records/header-text.js';
import { deliveryAttempt } from '../context/delivery-attempt.js';
import type { RecordCall } from '../record-call.js';

/** The container whose records are logged. */
export interface LoggedContainer {
  readonly binding: string;
  readonly groupId: string;
  readonly hostname: string;
  /** 0 for the main topic. */
  readonly tier: number;
}

export type LoggedCall = Pick<RecordCall, 'delivery' | 'received' | 'number'>;

/** Headers with the id of the event, and of what it belongs to. The first one that is there counts. */
const EVENT_ID = ['message-id', 'x-outbox-event-id'] as const;
const CORRELATION_ID = ['correlation-id', 'x-correlation-id'] as const;

/** Longer ids are cut, because a producer may write anything into a header. */
const LONGEST_ID = 128;

/**
 * The context of one handler call for log lines. Fields and prefix are created when a line is
 * logged, so that a record without a log line costs little.
 */
export class CallLogContext implements RecordLogContext {
  readonly #container: LoggedContainer;
  readonly #first: LoggedCall;
  readonly #last: number;
  readonly #records: number;
  #fields: LogFields | undefined;

  /** `batch` are all records of a call of a batch handler, of which `first` is the first. */
  constructor(container: LoggedContainer, first: LoggedCall, batch?: readonly LoggedCall[]) {
    this.#container = container;
    this.#first = first;
    // A log line may keep the context for long, so it does not keep the records of the batch.
    this.#last = (batch?.at(-1) ?? first).delivery.record.offset;
    this.#records = batch?.length ?? 1;
  }

  get fields(): LogFields {
    return (this.#fields ??= { ...this.#read() });
  }

  get prefix(): string {
    const { binding, groupId } = this.#container;
    const { topic, partition, offset } = this.#first.delivery.record;
    const last = this.#last;
    const offsets = last === offset ? `${offset}` : `${offset}-${last}`;
    const parts = [binding, topic, partition, offsets, groupId, this.#instance];
    return `[${parts.join('|')}]`;
  }

  isNamedBy({ topic, partition, offset }: LogFields): boolean {
    const { record } = this.#first.delivery;
    return (
      topic === record.topic &&
      partition === record.partition &&
      Number(offset) >= record.offset &&
      Number(offset) <= this.#last
    );
  }

  get #instance(): string {
    return `${this.#container.hostname}-${this.#first.delivery.sessionIndex}`;
  }

  #read(): RecordLogFields {
    const { binding: bindingName, groupId: consumerGroup, tier: retryTier } = this.#container;
    const { delivery, received, number } = this.#first;
    const { topic, partition, offset } = delivery.record;
    const isBatch = this.#records > 1;
    return {
      ...{ bindingName, topic, partition, offset: String(offset) },
      ...(isBatch && { lastOffset: String(this.#last), records: this.#records }),
      ...{ consumerGroup, consumerInstance: this.#instance, retryTier },
      attempt: deliveryAttempt(delivery, retryTier, number).total,
      ...(!isBatch && idsIn(received.headers)),
    };
  }
}

function idsIn(
  headers: readonly RecordHeader[],
): Pick<RecordLogFields, 'eventId' | 'correlationId'> {
  const eventId = idIn(headers, EVENT_ID);
  const correlationId = idIn(headers, CORRELATION_ID);
  return {
    ...(eventId !== undefined && { eventId }),
    ...(correlationId !== undefined && { correlationId }),
  };
}

/** Control characters could begin a line of their own in the log. */
function idIn(headers: readonly RecordHeader[], names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = headerText(headers, name);
    if (text) return text.slice(0, LONGEST_ID).replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ');
  }
  return undefined;
}
