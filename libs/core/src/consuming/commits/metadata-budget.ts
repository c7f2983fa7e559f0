/** What a broker takes by default (offset.metadata.max.bytes), which it counts in UTF-16 units. */
const DEFAULT_UNITS = 4_096;
/** With less than this hardly a run has room. */
const LEAST_UNITS = 40;

/** How long the metadata of a commit may be. The broker does not say, so it is found out. */
export class MetadataBudget {
  #units = DEFAULT_UNITS;

  /** 0: no metadata is written at all. */
  get units(): number {
    return this.#units;
  }

  /** The broker refused metadata of this length. False where there is nothing to be taken away. */
  shrink(length: number): boolean {
    if (length === 0) return false;
    const half = Math.floor(Math.min(this.#units, length) / 2);
    this.#units = half < LEAST_UNITS ? 0 : half;
    return true;
  }
}
