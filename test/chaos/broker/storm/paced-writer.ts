import type { BrokerDriver, ProducerSession, WrittenRecord } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';

const EVERY_MS = 25;
/** Maximum number of calls that wait for their answer. */
const MOST_CALLS = 400;

export interface PacedWriterOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly records: number;
  readonly perSecond: number;
}

/** Result of a call of `send`: the numbers from `first` on have these offsets, by partition. */
export interface Acknowledged {
  readonly partition: number;
  readonly number: number;
  /** -1 if the broker did not know the offset any more. */
  readonly offset: number;
}

/**
 * Writes 0, 1, 2, … to each partition at a steady pace, whether or not earlier calls have ended. Records of
 * an earlier call must have lower offsets.
 */
export class PacedWriter {
  readonly acknowledged: Acknowledged[] = [];
  readonly failures: string[] = [];
  readonly #options: PacedWriterOptions;
  readonly #producer: ProducerSession;
  readonly #calls = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  /** The next number; it is the same for each partition. */
  #next = 0;
  #slowestMs = 0;

  constructor(driver: BrokerDriver, options: PacedWriterOptions) {
    this.#options = options;
    this.#producer = driver.producer({ lingerMs: 0, requestTimeoutMs: 3_000 });
    this.#running = this.#run();
    this.#running.catch(() => undefined);
  }

  /** Number of records that were passed to `send`. */
  get called(): number {
    return this.#next * this.#options.partitions;
  }

  get isDone(): boolean {
    return this.called >= this.#options.records;
  }

  /** Time from a call to its answer. */
  get slowestMs(): number {
    return Math.round(this.#slowestMs);
  }

  /** Resolves when all records are written and acknowledged. */
  async done(): Promise<void> {
    await this.#running;
    await this.#producer.close();
  }

  async #run(): Promise<void> {
    const { partitions, perSecond } = this.#options;
    const perCall = Math.max(1, Math.round((perSecond * EVERY_MS) / 1_000 / partitions));
    while (!this.isDone) {
      if (this.#calls.size < MOST_CALLS) this.#send(perCall);
      await sleep(realRuntime, EVERY_MS);
    }
    await Promise.all(this.#calls);
  }

  #send(perCall: number): void {
    const { topic, partitions } = this.#options;
    const numbers = Array.from({ length: perCall }, (_, index) => this.#next + index);
    this.#next += perCall;
    const places = numbers.flatMap((number) =>
      Array.from({ length: partitions }, (_, partition) => ({ partition, number })),
    );
    const startedAt = realRuntime.monotonic();
    const call = this.#producer
      .send(places.map((place) => ({ topic, ...recordOf(place) })))
      .then(
        (written) => this.#answered(places, written),
        (error: Error) => void this.failures.push(`${error.name}: ${error.message}`),
      )
      .finally(() => {
        this.#calls.delete(call);
        this.#slowestMs = Math.max(this.#slowestMs, realRuntime.monotonic() - startedAt);
      });
    this.#calls.add(call);
  }

  #answered(
    places: readonly Omit<Acknowledged, 'offset'>[],
    written: readonly WrittenRecord[],
  ): void {
    for (const [index, place] of places.entries())
      this.acknowledged.push({ ...place, offset: written[index]?.offset ?? -1 });
  }
}

/** The key contains the partition, because readers of other topics need it. */
function recordOf({ partition, number }: Omit<Acknowledged, 'offset'>) {
  return { partition, key: String(partition), value: String(number) };
}
