import {
  type BrokerRecord,
  type DriverLogger,
  errorSentenceOf,
  markMessage,
  ownError,
  type ProducerSession,
  RecordTooLargeError,
  RequestTimeoutError,
  SendError,
} from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { HeaderVariant } from '../headers/header-variants.js';
import type { PublishProblemTracker } from './publish-problem-tracker.js';

/** Parts that the publishers of a binding share. */
export interface RecordWriterParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'dlt'>;
  /** Returns the producer for a write. The producer waits for all in-sync replicas. */
  readonly producer: () => ProducerSession;
  /** Returns the producer for records that fit only if they are compressed. */
  readonly compressingProducer?: () => ProducerSession | undefined;
  readonly publishProblems: PublishProblemTracker;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** A write of a record, with its key and value unchanged. */
export interface RecordWrite {
  readonly topic: string;
  readonly report: FailureReport;
  /** Timestamp of the record in its new topic: milliseconds since 1970. */
  readonly at: number;
  /**
   * Variants of the headers, from the largest to the smallest. The first variant that fits is
   * written.
   */
  readonly variants: Iterable<HeaderVariant>;
  /** Time limit for the write, with all its variants: `dlt.publishTimeoutMs`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The record is too large for the topic in every variant. */
export class AllVariantsTooLargeError extends Error {
  constructor(cause: Error) {
    super(
      `It is too large even with the fewest headers. Raise max.message.bytes of the topic to that of the topic the record came from. ${errorSentenceOf(cause)}`,
      { cause },
    );
    this.name = new.target.name;
  }

  static {
    markMessage(this.prototype, 'own');
  }
}

/** Writes one record within a timeout, with as many headers of its failure as fit. */
export class RecordWriter {
  constructor(private readonly parts: RecordWriterParts) {}

  /**
   * Rejects if the record was not written, or if that is unknown. Rejects within the timeout even
   * if the driver never answers.
   */
  async write(write: RecordWrite): Promise<void> {
    const { runtime, publishProblems } = this.parts;
    const { timeoutMs } = write;
    this.#logBrokenRedaction(write.report);
    const endsAt = runtime.monotonic() + timeoutMs;
    const late = (): Error => timeoutError(timeoutMs);
    const variant = await within(runtime, timeoutMs, this.#send(write, endsAt), late);
    publishProblems.succeeded(write.topic);
    if (variant.without.length > 0) this.#logReducedHeaders(write, variant);
  }

  async #send({ variants, signal, ...write }: RecordWrite, endsAt: number): Promise<HeaderVariant> {
    const { key, value } = write.report.record;
    const { topic, at: timestamp } = write;
    let refusal: Error | undefined;
    for (const [variant, producer] of this.#attempts(variants)) {
      const timeoutMs = Math.floor(endsAt - this.parts.runtime.monotonic());
      if (timeoutMs < 1) throw timeoutError(write.timeoutMs);
      const record = { topic, key, value, headers: variant.headers, timestamp };
      try {
        const [written] = await producer.send([record], { timeoutMs, signal });
        if (!written)
          throw ownError(
            new Error(
              'The driver did not say where it has written the record. Check that it resolves send() with one result per record.',
            ),
          );
        return variant;
      } catch (error) {
        refusal = tooLargeError(error);
        if (!refusal) throw error;
      }
    }
    throw new AllVariantsTooLargeError(refusal!);
  }

  /**
   * Tries each variant uncompressed and compressed. The limit of a topic applies to the written
   * bytes, and the record may have come compressed.
   */
  *#attempts(variants: RecordWrite['variants']): Generator<[HeaderVariant, ProducerSession]> {
    for (const variant of variants) {
      yield [variant, this.parts.producer()];
      const compressing = this.parts.compressingProducer?.();
      if (compressing) yield [variant, compressing];
    }
  }

  #logReducedHeaders({ topic, report: { record } }: RecordWrite, { without }: HeaderVariant): void {
    this.parts.logger.warn(
      'A record was too large with all headers of its failure: it was written without some of them. Raise max.message.bytes of the topic above that of the topic it came from.',
      { ...this.#position(record), to: topic, without },
    );
  }

  #logBrokenRedaction({ description, record }: FailureReport): void {
    if (!description.isRedactionBroken) return;
    this.parts.logger.error(
      'dlt.redact threw, or gave something else than { message, stack }: of an exception only the class is written. Correct the function.',
      { ...this.#position(record), exceptionClass: description.className },
    );
  }

  #position({ topic, partition, offset }: BrokerRecord) {
    return { binding: this.parts.binding.name, topic, partition, offset: String(offset) };
  }
}

function tooLargeError(error: unknown): Error | undefined {
  const [outcome] = error instanceof SendError ? error.outcomes : [];
  const reason = outcome?.state === 'not-written' ? outcome.error : error;
  return reason instanceof RecordTooLargeError ? reason : undefined;
}

function timeoutError(publishTimeoutMs: number): Error {
  return new RequestTimeoutError(
    `It took longer than dlt.publishTimeoutMs (${publishTimeoutMs} ms). Look whether the cluster is reachable and the partitions of the topic have leaders.`,
  );
}

/**
 * Returns the message of an exception: which record was not written to which topic, the effect, and
 * the reason.
 */
export function failureMessage(
  what: string,
  { binding, record: { topic, partition, offset } }: FailureReport,
  to: string,
  cause: unknown,
): string {
  return `${what} of binding '${binding}' (${topic}-${partition}-${offset}) could not be written to topic '${to}'. ${writeStateText(cause)} The record stays where it is and is tried again. ${errorSentenceOf(cause)}`;
}

function writeStateText(error: unknown): string {
  const state = error instanceof SendError ? error.outcomes[0]?.state : undefined;
  const isUnknown = state === 'unknown' || error instanceof RequestTimeoutError;
  return isUnknown
    ? 'It is not known whether it was written, so it may be there twice in the end.'
    : 'It was not written.';
}
