import type { Runtime } from '@nest-event-bus/broker/runtime';
import { DURATION_BOUNDS } from '../model/measures/bucket-bounds.js';
import { Histogram } from '../model/measures/histogram.js';
import type { PublishValues } from '../model/measures/publish-values.js';
import { EventPublishException } from '../errors/publish-errors.js';
import type { EventResult } from './events-publish-exception.js';

type Destination = Pick<PublishValues, 'binding' | 'cluster' | 'topic'>;

/** Counts and measures what is published to one binding. */
export class PublishMeter {
  #published = 0;
  #failed = 0;
  #unknown = 0;
  readonly #durations = new Histogram(DURATION_BOUNDS);

  constructor(
    private readonly destination: Destination,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  start(): number {
    return this.runtime.monotonic();
  }

  ended(startedAt: number, results: readonly EventResult[]): void {
    this.#durations.record((this.runtime.monotonic() - startedAt) / 1_000);
    for (const result of results) {
      if (!(result instanceof EventPublishException)) this.#published++;
      else if (result.fate === 'unknown') this.#unknown++;
      else this.#failed++;
    }
  }

  get values(): PublishValues {
    return {
      ...this.destination,
      published: this.#published,
      failed: this.#failed,
      unknown: this.#unknown,
      durations: this.#durations.values,
    };
  }
}

/** The meters of all bindings that were published to. */
export class PublishMeters {
  readonly #meters = new Map<string, PublishMeter>();

  constructor(private readonly runtime: Pick<Runtime, 'monotonic'>) {}

  of(destination: Destination): PublishMeter {
    const key = `${destination.cluster}:${destination.binding}`;
    let meter = this.#meters.get(key);
    if (!meter) this.#meters.set(key, (meter = new PublishMeter(destination, this.runtime)));
    return meter;
  }

  get values(): readonly PublishValues[] {
    return [...this.#meters.values()].map(({ values }) => values);
  }
}
