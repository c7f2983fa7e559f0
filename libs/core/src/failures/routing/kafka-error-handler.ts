import type { BrokerRecord, ProducerSession, RecordHeader } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ErrorRedaction, ExceptionDetail } from '../../config/properties/dlt-properties.js';
import { DltPublishException } from '../../errors/publish-errors.js';
import { headerText } from '../../model/records/header-text.js';
import { describeError } from '../report/describe-error.js';
import { headersOf } from '../headers/header-profile.js';
import { PLAIN_HEADERS, plainProfile } from '../headers/plain-profile.js';

/** Of the application: provide it as KAFKA_ERROR_HANDLER_OPTIONS. */
export interface KafkaErrorHandlerOptions {
  /** By source topic; it replaces the default, which is that of the document service this handler comes from. */
  readonly retryTopics?: Readonly<Record<string, string>>;
  /** Default: `default`, or the only one there is. */
  readonly cluster?: string;
  /** Default, as of `redact`: what the bus's `defaults` say of dead letters. */
  readonly exceptionDetail?: ExceptionDetail;
  readonly redact?: ErrorRedaction;
}

export interface KafkaErrorHandlerParts {
  /** Of the cluster with this name. */
  readonly producer: (cluster: string | undefined) => ProducerSession;
  readonly runtime: Pick<Runtime, 'now'>;
  /** Asked for each record: they are known once the application is initialised. */
  readonly options?: () => KafkaErrorHandlerOptions;
}

/** The others of that service have retry topics too, but none was ever mapped: they go to their dead letters. */
const RETRY_TOPICS: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(
    ['emails', 'documents', 'payments', 'users'].map((name) => [
      `unraveldocs-${name}`,
      `unraveldocs-${name}-retry`,
    ]),
  ),
);

interface RetryState {
  /** Where it was written first: names are never made of the name of a retry topic. */
  readonly source: string;
  readonly count: number;
}

const TIMEOUT_MS = 30_000;

/**
 * For code that sees to its failures itself: it writes a record to `<topic>-retry` or `<topic>-dlq`
 * and tells why in five plain headers. A binding needs none of it; its failures go by its options.
 */
export class KafkaErrorHandler {
  constructor(private readonly parts: KafkaErrorHandlerParts) {}

  /** null: the topic has none, and what fails there goes to its dead letters. */
  getRetryTopic(sourceTopic: string): string | null {
    const { retryTopics = RETRY_TOPICS } = this.#options;
    return Object.hasOwn(retryTopics, sourceTopic) ? retryTopics[sourceTopic]! : null;
  }

  /** Resolves with the topic that has the record. Rejects with DltPublishException: then only its own topic has it. */
  routeToDlq(record: BrokerRecord, error: Error): Promise<string> {
    const { source, count } = this.#retryStateOf(record);
    return this.#write(record, error, `${source}-dlq`, count);
  }

  /** To the retry topic as long as the record was there fewer than `maxRetries` times. */
  routeToRetryOrDlq(record: BrokerRecord, error: Error, maxRetries: number): Promise<string> {
    const { source, count } = this.#retryStateOf(record);
    const topic = this.getRetryTopic(source);
    return topic === null || count >= maxRetries
      ? this.routeToDlq(record, error)
      : this.#write(record, error, topic, count + 1);
  }

  async #write(
    record: BrokerRecord,
    error: Error,
    topic: string,
    retryCount: number,
  ): Promise<string> {
    const { key, value } = record;
    const headers = [...foreignHeaders(record), ...this.#headers(record, error, retryCount)];
    const timestamp = this.parts.runtime.now();
    try {
      const outgoing = { topic, key, value, headers, timestamp };
      await this.parts.producer(this.#options.cluster).send([outgoing], { timeoutMs: TIMEOUT_MS });
      return topic;
    } catch (cause) {
      throw new DltPublishException(
        `The record ${record.topic}-${record.partition}-${record.offset} could not be written to '${topic}'. Do not acknowledge it. ${reasonOf(cause)}`,
        { cause },
      );
    }
  }

  /** Who makes a new event out of a retried one copies its headers along: they count only where they can be true. */
  #retryStateOf({ topic, headers }: BrokerRecord): RetryState {
    const said = headerText(headers, PLAIN_HEADERS.originalTopic);
    const isTrue = said !== undefined && (said === topic || this.getRetryTopic(said) === topic);
    return isTrue ? { source: said, count: retryCountOf(headers) } : { source: topic, count: 0 };
  }

  get #options(): KafkaErrorHandlerOptions {
    return this.parts.options?.() ?? {};
  }

  #headers(record: BrokerRecord, error: Error, retryCount: number): readonly RecordHeader[] {
    const { exceptionDetail = 'full', redact } = this.#options;
    const { message = '', className } = describeError(error, { exceptionDetail, redact });
    return headersOf({
      [PLAIN_HEADERS.originalTopic]: this.#retryStateOf(record).source,
      [PLAIN_HEADERS.exceptionMessage]: message,
      [PLAIN_HEADERS.exceptionClass]: className,
      [PLAIN_HEADERS.failureTimestamp]: new Date(this.parts.runtime.now()).toISOString(),
      [PLAIN_HEADERS.retryCount]: retryCount,
    });
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function retryCountOf(headers: readonly RecordHeader[]): number {
  const text = headerText(headers, PLAIN_HEADERS.retryCount) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function foreignHeaders({ headers }: BrokerRecord): readonly RecordHeader[] {
  return headers.filter(({ key }) => !plainProfile.owns(key));
}
