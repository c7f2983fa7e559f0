/** The broker's default limit (offset.metadata.max.bytes). The broker counts UTF-16 units. */
const DEFAULT_UNITS = 4_096;
/** Less than this has room for hardly one range. */
const LEAST_UNITS = 40;

/**
 * Limits the length of commit metadata. The broker does not tell its limit, so the budget shrinks
 * after each refusal.
 */
export class MetadataBudget {
  #units = DEFAULT_UNITS;

  /** 0 means that no metadata is written. */
  get units(): number {
    return this.#units;
  }

  /**
   * Halves the budget after the broker refused metadata of this length. Returns false if there was
   * no metadata to shorten.
   */
  shrink(length: number): boolean {
    if (length === 0) return false;
    const half = Math.floor(Math.min(this.#units, length) / 2);
    this.#units = half < LEAST_UNITS ? 0 : half;
    return true;
  }
}
