import type { BrokerRecord } from '@nest-event-bus/broker';
import {
  BATCH_BOUNDS,
  DURATION_BOUNDS,
  END_TO_END_BOUNDS,
} from '../../model/measures/bucket-bounds.js';
import { Histogram, type HistogramValues } from '../../model/measures/histogram.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerCount } from '../../model/records/header-number.js';
import { PartitionCounts, type PartitionOutcomes } from './partition-counts.js';

type OutcomeKind = Outcome['kind'];

/** The measured values of a container, at one moment. */
export interface MeasuredValues {
  /** Seconds per record, by outcome. Outcomes that did not occur are left out. */
  readonly processing: readonly { readonly kind: OutcomeKind; readonly values: HistogramValues }[];
  readonly batches: HistogramValues;
  readonly endToEnd: HistogramValues;
  readonly commits: HistogramValues;
}

/** Measures the records of a container, over all its sessions and starts. */
export class ContainerMeasures {
  readonly #processing: Readonly<Record<OutcomeKind, Histogram>> = {
    succeeded: new Histogram(DURATION_BOUNDS),
    discarded: new Histogram(DURATION_BOUNDS),
    retried: new Histogram(DURATION_BOUNDS),
    'dead-lettered': new Histogram(DURATION_BOUNDS),
    failed: new Histogram(DURATION_BOUNDS),
    'handed-back': new Histogram(DURATION_BOUNDS),
  };
  readonly #partitions = new PartitionCounts();
  readonly #batches = new Histogram(BATCH_BOUNDS);
  readonly #endToEnd = new Histogram(END_TO_END_BOUNDS);
  readonly #commits = new Histogram(DURATION_BOUNDS);

  /** `tier` is 0 for the main topic. */
  constructor(private readonly tier: number) {}

  /**
   * Measures a delivery that has an outcome. `tookMs` is the time in the pipeline, for a record of a
   * batch its share of the batch's time. `endedAt` is in milliseconds since 1970.
   */
  settled(kind: OutcomeKind, record: BrokerRecord, tookMs: number, endedAt: number): void {
    this.#partitions.count(record.partition, kind);
    this.#processing[kind].record(tookMs / 1_000);
    if (kind !== 'succeeded' && kind !== 'discarded' && kind !== 'dead-lettered') return;
    const since = this.tier === 0 ? record.timestamp : firstWrittenAt(record);
    // The clocks of the producer and of this process may differ.
    this.#endToEnd.record(Math.max(0, endedAt - since) / 1_000);
  }

  /** Measures one call of a batch handler. */
  batch(records: number): void {
    this.#batches.record(records);
  }

  /** Measures one commit request, from its start to its answer. */
  committed(tookMs: number): void {
    this.#commits.record(tookMs / 1_000);
  }

  /** Partitions without an outcome are left out. */
  get partitions(): readonly PartitionOutcomes[] {
    return this.#partitions.values;
  }

  get values(): MeasuredValues {
    const processing = Object.entries(this.#processing)
      .map(([kind, histogram]) => ({ kind: kind as OutcomeKind, values: histogram.values }))
      .filter(({ values }) => values.count > 0);
    return {
      processing,
      batches: this.#batches.values,
      endToEnd: this.#endToEnd.values,
      commits: this.#commits.values,
    };
  }
}

/** Returns when a record of a retry topic was first written: milliseconds since 1970. */
function firstWrittenAt({ headers, timestamp }: BrokerRecord): number {
  return headerCount(headers, EVENTBUS_HEADERS.originalTimestamp) ?? timestamp;
}
