import type { BrokerRecord, ProducerSession, RecordHeader } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { DltPublishException } from '../errors/publish-errors.js';
import { headerText } from '../model/header-text.js';
import { describeError } from './error-description.js';
import { headersOf } from './headers/header-profile.js';
import { PLAIN_HEADERS, plainProfile } from './headers/plain-profile.js';

export interface KafkaErrorHandlerParts {
  readonly producer: () => ProducerSession;
  readonly runtime: Pick<Runtime, 'now'>;
  /** By source topic. Default: those of the document service this handler comes from. */
  readonly retryTopics?: Readonly<Record<string, string>>;
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

const TIMEOUT_MS = 30_000;

/**
 * For code that sees to its failures itself: it writes a record to `<topic>-retry` or `<topic>-dlq`
 * and tells why in five plain headers. A binding needs none of it; its failures go by its options.
 */
export class KafkaErrorHandler {
  readonly #retryTopics: ReadonlyMap<string, string>;

  constructor(private readonly parts: KafkaErrorHandlerParts) {
    this.#retryTopics = new Map(Object.entries(parts.retryTopics ?? RETRY_TOPICS));
  }

  /** null: the topic has none, and what fails there goes to its dead letters. */
  getRetryTopic(sourceTopic: string): string | null {
    return this.#retryTopics.get(sourceTopic) ?? null;
  }

  /** Resolves with the topic that has the record. Rejects with DltPublishException: then only its own topic has it. */
  routeToDlq(record: BrokerRecord, error: Error): Promise<string> {
    return this.#write(record, error, `${sourceOf(record)}-dlq`, retryCountOf(record));
  }

  /** To the retry topic as long as the record was there fewer than `maxRetries` times. */
  routeToRetryOrDlq(record: BrokerRecord, error: Error, maxRetries: number): Promise<string> {
    const topic = this.getRetryTopic(sourceOf(record));
    const count = retryCountOf(record);
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
    const headers = [...othersOf(record), ...this.#headers(record, error, retryCount)];
    const timestamp = this.parts.runtime.now();
    try {
      const outgoing = { topic, key, value, headers, timestamp };
      await this.parts.producer().send([outgoing], { timeoutMs: TIMEOUT_MS });
      return topic;
    } catch (cause) {
      throw new DltPublishException(
        `The record ${record.topic}-${record.partition}-${record.offset} could not be written to '${topic}'. Do not acknowledge it; look whether the topic exists and may be written to.`,
        { cause },
      );
    }
  }

  #headers(record: BrokerRecord, error: Error, retryCount: number): readonly RecordHeader[] {
    const { message = '', className } = describeError(error, { exceptionDetail: 'full' });
    return headersOf({
      [PLAIN_HEADERS.originalTopic]: sourceOf(record),
      [PLAIN_HEADERS.exceptionMessage]: message,
      [PLAIN_HEADERS.exceptionClass]: className,
      [PLAIN_HEADERS.failureTimestamp]: new Date(this.parts.runtime.now()).toISOString(),
      [PLAIN_HEADERS.retryCount]: retryCount,
    });
  }
}

/** Where it was written first: names are never made of the name of a retry topic. */
function sourceOf({ topic, headers }: BrokerRecord): string {
  return headerText(headers, PLAIN_HEADERS.originalTopic) ?? topic;
}

function retryCountOf({ headers }: BrokerRecord): number {
  const text = headerText(headers, PLAIN_HEADERS.retryCount) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function othersOf({ headers }: BrokerRecord): readonly RecordHeader[] {
  return headers.filter(({ key }) => !plainProfile.owns(key));
}
