import { DltPublishException } from '../../errors/publish-errors.js';
import type { DeadLetterReason } from '../../model/outcomes/destination.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { dltRecordOf } from '../report/dlt-record-of.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { DltHeaderEnricher } from '../headers/dlt-header-enricher.js';
import type { DeadLetterHop } from '../headers/header-profile.js';
import { failureMessage, RecordWriter, type RecordWriterParts } from './record-writer.js';

/** The one place that writes to the dead-letter topic of a binding. */
export class DltPublisher {
  readonly #parts: RecordWriterParts;
  readonly #writer: RecordWriter;
  readonly #headers: DltHeaderEnricher;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
    this.#writer = new RecordWriter(parts);
    this.#headers = new DltHeaderEnricher(parts.binding.dlt.headerProfile);
  }

  /** The dead letter that would be written now. */
  describe(report: FailureReport, letter: DeadLetterReason): DltRecord {
    return dltRecordOf(report, this.#hop(letter), this.#parts.binding.dlt.headerProfile);
  }

  /**
   * Resolves once all in-sync replicas have the record: its key and value byte for byte, and as
   * much of its story as the topic takes. Rejects with DltPublishException; then the record must
   * stay where it is.
   */
  async publish(
    report: FailureReport,
    letter: DeadLetterReason,
    signal?: AbortSignal,
  ): Promise<DltRecord> {
    const { topic, headerProfile } = this.#parts.binding.dlt;
    const hop = this.#hop(letter);
    const variants = this.#headers.variants(report, hop);
    try {
      await this.#writer.write({ topic, report, at: hop.at, variants, signal });
    } catch (cause) {
      const message = failureMessage('A dead letter', report, topic, cause);
      const failure = new DltPublishException(message, { cause });
      // What was called off says nothing about the topic.
      if (!signal?.aborted) this.#parts.publishProblems.failed(topic, failure);
      throw failure;
    }
    return dltRecordOf(report, hop, headerProfile);
  }

  /** Its time is that of the write, not of the record: retention counts from now. */
  #hop(letter: DeadLetterReason): DeadLetterHop {
    return { kind: 'dead-letter', ...letter, at: this.#parts.runtime.now() };
  }
}
