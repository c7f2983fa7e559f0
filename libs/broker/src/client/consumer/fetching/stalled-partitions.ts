import type { Runtime } from '../../../runtime/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** A leader that moves is found within this time, as a rule. */
const ROUTINE_MS = 2_000;
/** One that was refused before a pause and is refused again after it has not stood still meanwhile. */
const ROUTINE_IN_A_ROW = 2;

interface Standstill {
  readonly since: number;
  times: number;
}

/** Tells partitions that cannot be read for long from those whose leader has just moved. */
export class Standstills {
  readonly #known = new WeakMap<OwnedPartition, Standstill>();

  constructor(private readonly runtime: Runtime) {}

  /** It could not be read, once more; returns whether that is worth a word. */
  lasts(partition: OwnedPartition): boolean {
    const now = this.runtime.monotonic();
    const known = this.#known.get(partition) ?? { since: now, times: 0 };
    this.#known.set(partition, known);
    return ++known.times > ROUTINE_IN_A_ROW && now - known.since >= ROUTINE_MS;
  }

  over(partition: OwnedPartition): void {
    this.#known.delete(partition);
  }
}
