import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { DltCause, DltReason } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';

/** The next topic of a failed record. `at` is the time of the write: milliseconds since 1970. */
export type Hop = RetryHop | DeadLetterHop;

export interface RetryHop {
  readonly kind: 'retry';
  readonly tier: number;
  /** The delivery within that tier, from 1. */
  readonly delivery: number;
  readonly at: number;
}

export interface DeadLetterHop {
  readonly kind: 'dead-letter';
  readonly reason: DltReason;
  readonly cause: DltCause;
  readonly at: number;
}

/** A format in which a failure report is written to headers. */
export interface HeaderProfile {
  readonly name: HeaderProfileName;
  /** Says whether a header of this name belongs to the profile. Headers of an earlier hop are replaced. */
  owns(name: string): boolean;
  write(report: FailureReport, hop: Hop): readonly RecordHeader[];
}

/** Headers for the values that are defined, in this order. */
export function headersOf(
  values: Readonly<Record<string, string | number | bigint | Buffer | undefined>>,
): readonly RecordHeader[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: bytesOf(value) }],
  );
}

const bytesOf = (value: string | number | bigint | Buffer): Buffer =>
  Buffer.isBuffer(value) ? value : Buffer.from(String(value), 'utf8');
