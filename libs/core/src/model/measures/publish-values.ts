import type { HistogramValues } from './histogram.js';

/** What `EventPublisher` has published to one topic. Every event counts once. */
export interface PublishValues {
  readonly binding: string;
  readonly cluster: string;
  readonly topic: string;
  readonly published: number;
  /** Events that were certainly not written. */
  readonly failed: number;
  /** Events of which it is not known whether they were written. */
  readonly unknown: number;
  /** Seconds from the call to its result. A call with many events counts once. */
  readonly durations: HistogramValues;
}
