import {
  type BrokerRecord,
  errorSentenceOf,
  type ProducerSession,
  type RecordHeader,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { isTopicName } from '../../config/resolving/legal-topic-name.js';
import { DltPublishException } from '../../errors/publish-errors.js';
import { describeError } from '../../errors/texts/describe-error.js';
import type {
  ErrorRedaction,
  ExceptionDetail,
} from '../../model/extension-points/error-redaction.js';
import { headerText } from '../../model/records/header-text.js';
import { headersOf } from '../headers/header-profile.js';
import { archiveHeaders, splitHeaders } from '../headers/header-profiles.js';
import { PLAIN_HEADERS, plainProfile } from '../headers/plain-profile.js';

/** Options of the application. Provide them as KAFKA_ERROR_HANDLER_OPTIONS. */
export interface KafkaErrorHandlerOptions {
  /**
   * Retry topics by source topic. They replace the default mapping, which has the topics of a
   * document service.
   */
  readonly retryTopics?: Readonly<Record<string, string>>;
  /** Cluster to write to. Default: the cluster `default`, or the only one. */
  readonly cluster?: string;
  /** Default, as for `redact`: the value in the bus's `defaults` for dead letters. */
  readonly exceptionDetail?: ExceptionDetail;
  readonly redact?: ErrorRedaction;
}

export interface KafkaErrorHandlerParts {
  /** Returns the producer of the cluster with this name. */
  readonly producer: (cluster: string | undefined) => ProducerSession;
  readonly runtime: Pick<Runtime, 'now'>;
  /**
   * Returns the options. Called for each record, because the options are known only after the
   * application is initialised.
   */
  readonly options?: () => KafkaErrorHandlerOptions;
}

/** Default mapping. Failures of topics without an entry are dead-lettered. */
const RETRY_TOPICS: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(
    ['emails', 'documents', 'payments', 'users'].map((name) => [
      `unraveldocs-${name}`,
      `unraveldocs-${name}-retry`,
    ]),
  ),
);

interface RetryState {
  /** True if an earlier call wrote the record to this topic. */
  readonly isWritten: boolean;
  /**
   * The topic in which the record was first written. Names are never derived from the name of a
   * retry topic.
   */
  readonly source: string;
  readonly count: number;
}

const TIMEOUT_MS = 30_000;

/**
 * Writes a record to `<topic>-retry` or `<topic>-dlq`, with the reason in five plain headers.
 * Intended for code that handles its failures itself. A binding does not need it, because its
 * options say where failed records go.
 */
export class KafkaErrorHandler {
  constructor(private readonly parts: KafkaErrorHandlerParts) {}

  /**
   * Returns the retry topic; null if there is none, and failures of the topic are dead-lettered.
   */
  getRetryTopic(sourceTopic: string): string | null {
    const { retryTopics = RETRY_TOPICS } = this.#options;
    return Object.hasOwn(retryTopics, sourceTopic) ? retryTopics[sourceTopic]! : null;
  }

  /**
   * Writes to the dead-letter topic, and resolves with its name. Rejects with DltPublishException
   * if the record was not written.
   */
  routeToDlq(record: BrokerRecord, error: Error): Promise<string> {
    const { source, count } = this.#retryStateOf(record);
    return this.#write(record, error, `${source}-dlq`, count);
  }

  /**
   * Writes to the retry topic until the record was written there `maxRetries` times, and then to
   * the dead-letter topic.
   */
  routeToRetryOrDlq(record: BrokerRecord, error: Error, maxRetries: number): Promise<string> {
    const { source, count } = this.#retryStateOf(record);
    const topic = this.getRetryTopic(source);
    return topic === null || count >= maxRetries
      ? this.routeToDlq(record, error)
      : this.#write(record, error, topic, count + 1);
  }

  /**
   * Writes a record of a dead-letter topic back to the topic that its header `original-topic`
   * names, and counts one retry more. Resolves with false if it was not written: the header is
   * missing or names no topic, or the write failed. `DltReplayService` replays the dead letters of
   * a binding.
   */
  async retryFromDlq(record: BrokerRecord): Promise<boolean> {
    const { headers, key, topic: deadLetterTopic, value } = record;
    const topic = headerText(headers, PLAIN_HEADERS.originalTopic) ?? '';
    // A record whose header names its own topic would be written there again and again.
    if (!isTopicName(topic) || topic === deadLetterTopic) return false;
    const others = headers.filter((header) => header.key !== PLAIN_HEADERS.retryCount);
    const count = headersOf({ [PLAIN_HEADERS.retryCount]: retryCountOf(headers) + 1 });
    const outgoing = { topic, key, value, headers: [...others, ...count] };
    try {
      const timestamp = this.parts.runtime.now();
      const producer = this.parts.producer(this.#options.cluster);
      await producer.send([{ ...outgoing, timestamp }], { timeoutMs: TIMEOUT_MS });
      return true;
    } catch {
      // The specification wants an answer instead of an exception. The record stays where it is.
      return false;
    }
  }

  async #write(
    record: BrokerRecord,
    error: Error,
    topic: string,
    retryCount: number,
  ): Promise<string> {
    const { key, value } = record;
    const headers = [...this.#producerHeaders(record), ...this.#headers(record, error, retryCount)];
    const timestamp = this.parts.runtime.now();
    try {
      const outgoing = { topic, key, value, headers, timestamp };
      await this.parts.producer(this.#options.cluster).send([outgoing], { timeoutMs: TIMEOUT_MS });
      return topic;
    } catch (cause) {
      throw new DltPublishException(
        `The record ${record.topic}-${record.partition}-${record.offset} could not be written to '${topic}'. Do not acknowledge it. ${errorSentenceOf(cause)}`,
        { cause },
      );
    }
  }

  /**
   * Reads the state from the headers. Producers often copy headers from a retried event to a new
   * one, so they count only if they belong to this topic.
   */
  #retryStateOf({ topic, headers }: BrokerRecord): RetryState {
    const original = headerText(headers, PLAIN_HEADERS.originalTopic);
    const isTrue =
      original !== undefined && (original === topic || this.getRetryTopic(original) === topic);
    return isTrue
      ? { isWritten: true, source: original, count: retryCountOf(headers) }
      : { isWritten: false, source: topic, count: 0 };
  }

  /** Returns the producer's own headers, with those archived whose names are written. */
  #producerHeaders(record: BrokerRecord): readonly RecordHeader[] {
    const { headers } = record;
    const profiles = [plainProfile];
    const { isWritten } = this.#retryStateOf(record);
    return archiveHeaders(isWritten ? splitHeaders(headers, profiles).original : headers, profiles);
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

function retryCountOf(headers: readonly RecordHeader[]): number {
  const text = headerText(headers, PLAIN_HEADERS.retryCount) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
