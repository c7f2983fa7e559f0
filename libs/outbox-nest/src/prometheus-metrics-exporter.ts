import { IllegalArgumentError, type MetricsExporter } from '@nest-event-bus/outbox';

interface Sample {
  inc(): void;
}

interface Level {
  set(value: number): void;
}

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly registers: readonly object[];
}

/** The part of prom-client that is used: `import * as promClient from 'prom-client'`. */
export interface PromClient {
  readonly Counter: new (options: never) => Sample;
  readonly Gauge: new (options: never) => Level;
}

/** Counts into a registry of prom-client. Dots of the prefix become underscores. */
export class PrometheusMetricsExporter implements MetricsExporter {
  readonly #hotEnqueued: Sample;
  readonly #hotDropped: Sample;
  readonly #coldEnqueued: Sample;
  readonly #success: Sample;
  readonly #failure: Sample;
  readonly #dead: Sample;
  readonly #hotDepth: Level;
  readonly #coldDepth: Level;
  readonly #lag: Level;

  constructor({ Counter, Gauge }: PromClient, registry: object, prefix = 'outbox') {
    const start = metricPrefix(prefix);
    const metric = (name: string, help: string): never =>
      ({ name: `${start}_${name}`, help, registers: [registry] }) satisfies MetricOptions as never;
    this.#hotEnqueued = new Counter(metric('enqueue_hot_total', 'Events that the hot queue took.'));
    this.#hotDropped = new Counter(
      metric('enqueue_hot_dropped_total', 'Events that found the hot queue full.'),
    );
    this.#coldEnqueued = new Counter(metric('enqueue_cold_total', 'Events that a poll queued.'));
    this.#success = new Counter(metric('dispatch_success_total', 'Events that became DONE.'));
    this.#failure = new Counter(metric('dispatch_failure_total', 'Dispatches to be repeated.'));
    this.#dead = new Counter(metric('dispatch_dead_total', 'Events that became DEAD.'));
    this.#hotDepth = new Gauge(metric('queue_hot_depth', 'Events in the hot queue.'));
    this.#coldDepth = new Gauge(metric('queue_cold_depth', 'Events in the cold queue.'));
    this.#lag = new Gauge(metric('lag_oldest_ms', 'Age of the oldest event that a poll found.'));
  }

  incrementHotEnqueued(): void {
    this.#hotEnqueued.inc();
  }

  incrementHotDropped(): void {
    this.#hotDropped.inc();
  }

  incrementColdEnqueued(): void {
    this.#coldEnqueued.inc();
  }

  incrementDispatchSuccess(): void {
    this.#success.inc();
  }

  incrementDispatchFailure(): void {
    this.#failure.inc();
  }

  incrementDispatchDead(): void {
    this.#dead.inc();
  }

  recordQueueDepths(hot: number, cold: number): void {
    this.#hotDepth.set(hot);
    this.#coldDepth.set(cold);
  }

  recordOldestLagMs(lagMs: number): void {
    this.#lag.set(lagMs);
  }
}

function metricPrefix(prefix: string): string {
  const name = prefix.replaceAll(/[.-]/g, '_');
  if (/^[a-zA-Z_]\w*$/.test(name)) return name;
  throw new IllegalArgumentError(
    'The prefix of the metrics is empty or has characters that Prometheus does not allow. Use letters, digits, dots and underscores.',
  );
}
