import { errorReasonOf, markMessage } from '@nest-event-bus/broker';
import { RetryPublishException } from '../../errors/publish-errors.js';
import type { RetryDestination } from '../../model/outcomes/destination.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { RetryHop } from '../headers/header-profile.js';
import { RetryHeaderEnricher } from '../headers/retry-header-enricher.js';
import {
  AllVariantsTooLargeError,
  failureMessage,
  RecordWriter,
  type RecordWriterParts,
} from './record-writer.js';

/**
 * The record does not fit into the retry topic even with only the control headers, so it cannot be
 * retried there.
 */
export class RecordTooLargeForRetryError extends Error {
  constructor(topic: string, cause: Error) {
    super(`The record does not fit into retry topic '${topic}'. ${errorReasonOf(cause)}`, {
      cause,
    });
    this.name = new.target.name;
  }

  static {
    markMessage(this.prototype, 'own');
  }
}

/** Writes to the retry topics of a binding. No other class does. */
export class RetryPublisher {
  readonly #parts: RecordWriterParts;
  readonly #writer: RecordWriter;
  readonly #headers: RetryHeaderEnricher;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
    this.#writer = new RecordWriter(parts);
    this.#headers = new RetryHeaderEnricher(parts.binding.dlt.headerProfile);
  }

  /**
   * Writes a record to a retry topic. Resolves once all in-sync replicas have the record. Its key
   * and value are unchanged, so records with the same key share a partition in the retry topic.
   * Rejects with RecordTooLargeForRetryError if the record fits into no tier, and otherwise with
   * RetryPublishException. The record is then not finished and must be delivered again.
   */
  async publish(
    report: FailureReport,
    { tier, topic, delivery }: RetryDestination,
    signal?: AbortSignal,
  ): Promise<void> {
    const at = this.#parts.runtime.now();
    const hop: RetryHop = { kind: 'retry', tier, delivery, at };
    const { publishTimeoutMs: timeoutMs } = this.#parts.binding.dlt;
    const variants = this.#headers.variants(report, hop);
    try {
      await this.#writer.write({ topic, report, at, variants, timeoutMs, signal });
    } catch (cause) {
      if (cause instanceof AllVariantsTooLargeError)
        throw new RecordTooLargeForRetryError(topic, cause);
      throw this.#failure(failureMessage('A retry', report, topic, cause), cause, topic, signal);
    }
  }

  #failure(
    message: string,
    cause: unknown,
    topic: string,
    signal: AbortSignal | undefined,
  ): RetryPublishException {
    const failure = new RetryPublishException(message, { cause });
    // A cancelled write is no problem of the topic.
    if (!signal?.aborted) this.#parts.publishProblems.failed(topic, failure);
    return failure;
  }
}
