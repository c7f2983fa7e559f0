import type { BrokerDriver } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';

const EVERY_MS = 25;

/** Writes 0, 1, 2, … to each partition without pause, and remembers the offset of each number. */
export class NumberedWriter {
  /** Offset of each number, by partition. */
  readonly offsets: readonly number[][];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    driver: BrokerDriver,
    readonly topic: string,
    partitions: number,
  ) {
    this.offsets = Array.from({ length: partitions }, () => []);
    this.#running = this.#run(driver);
    this.#running.catch(() => undefined);
  }

  get written(): number {
    return this.offsets.reduce((sum, numbers) => sum + numbers.length, 0);
  }

  /** Rejects if a record could not be written. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(driver: BrokerDriver): Promise<void> {
    const producer = driver.producer({ lingerMs: 0 });
    while (!this.#stop.signal.aborted) {
      const written = await producer.send(
        this.offsets.map((numbers, partition) => ({
          topic: this.topic,
          partition,
          value: String(numbers.length),
        })),
      );
      for (const { partition, offset } of written) this.offsets[partition]?.push(offset);
      await sleep(realRuntime, EVERY_MS, this.#stop.signal).catch(() => undefined);
    }
    await producer.close();
  }
}
