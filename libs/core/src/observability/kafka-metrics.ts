import type { Runtime } from '@nest-event-bus/broker/runtime';
import { DURATION_BOUNDS } from '../model/measures/bucket-bounds.js';
import { Histogram, type HistogramValues } from '../model/measures/histogram.js';
import { KnownValues } from './known-values.js';

/** Maximal number of topics, because topics may be named at run time. */
const MAX_TOPICS = 500;

/** A running measurement. */
export interface MetricsTimer {
  /** Start by the monotonic clock. */
  readonly startedAt: number;
}

/** The values of one topic. */
export interface KafkaTopicValues {
  readonly topic: string;
  readonly sent: number;
  readonly received: number;
  readonly failed: number;
  readonly dlq: number;
  readonly send: HistogramValues;
  readonly process: HistogramValues;
}

type Count = 'sent' | 'received' | 'failed' | 'dlq';

class TopicMeter {
  readonly counts: Record<Count, number> = { sent: 0, received: 0, failed: 0, dlq: 0 };
  readonly send = new Histogram(DURATION_BOUNDS);
  readonly process = new Histogram(DURATION_BOUNDS);
}

/**
 * Counts messages per topic, for producers and consumers of the application besides the event bus.
 * The metrics are named `kafka.messaging.*`. What the bus itself receives and publishes is in them
 * without a call.
 */
export class KafkaMetrics {
  readonly #topics = new Map<string, TopicMeter>();
  readonly #names = new KnownValues(MAX_TOPICS);

  constructor(private readonly runtime: Pick<Runtime, 'monotonic'>) {}

  startSendTimer(): MetricsTimer {
    return { startedAt: this.runtime.monotonic() };
  }

  /** Measures a send, whether it succeeded or not. */
  stopSendTimer(timer: MetricsTimer, topic: string): void {
    this.#of(topic).send.record(this.#secondsOf(timer));
  }

  startProcessTimer(): MetricsTimer {
    return { startedAt: this.runtime.monotonic() };
  }

  /** Measures the handling of a message, whether it succeeded or not. */
  stopProcessTimer(timer: MetricsTimer, topic: string): void {
    this.#of(topic).process.record(this.#secondsOf(timer));
  }

  recordMessageSent(topic: string): void {
    this.#of(topic).counts.sent++;
  }

  recordMessageReceived(topic: string): void {
    this.#of(topic).counts.received++;
  }

  recordMessageFailed(topic: string): void {
    this.#of(topic).counts.failed++;
  }

  /** Counts a message of this topic that was written to its dead-letter topic. */
  recordMessageDlq(topic: string): void {
    this.#of(topic).counts.dlq++;
  }

  get values(): readonly KafkaTopicValues[] {
    return [...this.#topics].map(([topic, { counts, send, process }]) => ({
      topic,
      ...counts,
      send: send.values,
      process: process.values,
    }));
  }

  #secondsOf({ startedAt }: MetricsTimer): number {
    return (this.runtime.monotonic() - startedAt) / 1_000;
  }

  #of(topic: string): TopicMeter {
    const name = this.#names.nameOf(topic);
    let meter = this.#topics.get(name);
    if (!meter) this.#topics.set(name, (meter = new TopicMeter()));
    return meter;
  }
}
