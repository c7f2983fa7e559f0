import { DltPublishException } from '../../errors/publish-errors.js';
import type { DeadLetterReason } from '../../model/outcomes/destination.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { dltRecordOf } from '../report/dlt-record-of.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { DltHeaderEnricher } from '../headers/dlt-header-enricher.js';
import type { DeadLetterHop } from '../headers/header-profile.js';
import { failureMessage, RecordWriter, type RecordWriterParts } from './record-writer.js';

/** Writes to the dead-letter topic of a binding. No other class does. */
export class DltPublisher {
  readonly #parts: RecordWriterParts;
  readonly #writer: RecordWriter;
  readonly #headers: DltHeaderEnricher;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
    this.#writer = new RecordWriter(parts);
    this.#headers = new DltHeaderEnricher(parts.binding.dlt.headerProfile);
  }

  /** Returns the dead letter as it would be written now. */
  describe(report: FailureReport, letter: DeadLetterReason): DltRecord {
    return dltRecordOf(report, this.#hop(letter), this.#parts.binding.dlt.headerProfile);
  }

  /**
   * Writes a dead letter within `dlt.publishTimeoutMs`. Resolves once all in-sync replicas have the
   * record: its key and value byte for byte, and as many headers of its failure as fit. After a
   * DltPublishException the record must be delivered again and not committed.
   */
  async publish(
    report: FailureReport,
    letter: DeadLetterReason,
    signal?: AbortSignal,
  ): Promise<DltRecord> {
    const { topic, headerProfile, publishTimeoutMs: timeoutMs } = this.#parts.binding.dlt;
    const hop = this.#hop(letter);
    const variants = this.#headers.variants(report, hop);
    try {
      await this.#writer.write({ topic, report, at: hop.at, variants, timeoutMs, signal });
    } catch (cause) {
      const message = failureMessage('A dead letter', report, topic, cause);
      const failure = new DltPublishException(message, { cause });
      // A cancelled write is no problem of the topic.
      if (!signal?.aborted) this.#parts.publishProblems.failed(topic, failure);
      throw failure;
    }
    return dltRecordOf(report, hop, headerProfile);
  }

  /**
   * Returns the dead letter with the time of the write. The time of the record is not used, because
   * retention would count from it.
   */
  #hop(letter: DeadLetterReason): DeadLetterHop {
    return { kind: 'dead-letter', ...letter, at: this.#parts.runtime.now() };
  }
}
