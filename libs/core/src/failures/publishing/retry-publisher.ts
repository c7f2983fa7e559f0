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

/** The record does not fit into the retry topic, even with the control headers alone. It cannot be retried there. */
export class RecordTooLargeForRetryError extends Error {
  constructor(topic: string, cause: Error) {
    super(`The record does not fit into retry topic '${topic}'. ${cause.message}`, { cause });
    this.name = new.target.name;
  }
}

/** Writes to the retry topics of a binding. Nothing else does. */
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
   * Resolves once all in-sync replicas have the record, with its key and value byte for byte, so that
   * records with one key share a partition there, too. Rejects with RecordTooLargeForRetryError if no
   * tier can help, else with RetryPublishException. The record must then stay in its place.
   */
  async publish(
    report: FailureReport,
    { tier, topic, delivery }: RetryDestination,
    signal?: AbortSignal,
  ): Promise<void> {
    const at = this.#parts.runtime.now();
    const hop: RetryHop = { kind: 'retry', tier, delivery, at };
    const variants = this.#headers.variants(report, hop);
    try {
      await this.#writer.write({ topic, report, at, variants, signal });
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
    // A cancelled write says nothing about the topic.
    if (!signal?.aborted) this.#parts.publishProblems.failed(topic, failure);
    return failure;
  }
}
