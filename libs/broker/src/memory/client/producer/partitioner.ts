import type { OutgoingRecord } from '../../../port/record.js';
import { partitionForKey } from '../../../records/index.js';
import type { Runtime } from '../../../runtime/index.js';

interface StickyPartition {
  readonly partition: number;
  bytes: number;
}

/**
 * Chooses by the key, as Java does. Without a key, a number of bytes goes to one partition before
 * another is chosen at random.
 */
export class Partitioner {
  readonly #sticky = new Map<string, StickyPartition>();

  constructor(
    private readonly runtime: Runtime,
    private readonly bytesPerStay: number,
  ) {}

  choose(
    { topic, key }: OutgoingRecord,
    partitionCount: number,
    led: readonly number[],
    bytes: number,
  ): number {
    if (key !== null && key !== undefined)
      return partitionForKey(typeof key === 'string' ? Buffer.from(key) : key, partitionCount);
    const stay = this.#sticky.get(topic);
    if (stay && stay.bytes < this.bytesPerStay && led.includes(stay.partition)) {
      stay.bytes += bytes;
      return stay.partition;
    }
    const partition = this.#draw(led, partitionCount, stay?.partition);
    this.#sticky.set(topic, { partition, bytes });
    return partition;
  }

  #draw(led: readonly number[], partitionCount: number, last: number | undefined): number {
    const all = led.length > 0 ? led : Array.from({ length: partitionCount }, (_, index) => index);
    const others = all.length > 1 ? all.filter((partition) => partition !== last) : all;
    return others[Math.floor(this.runtime.random() * others.length)] ?? 0;
  }
}
