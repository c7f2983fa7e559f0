/** Limits the bytes of all records that are encoded but have no outcome yet. */
export class MemoryBudget {
  #used = 0;

  constructor(
    private readonly limit: number,
    private readonly onReleased: () => void,
  ) {}

  has(bytes: number): boolean {
    return this.#used + bytes <= this.limit;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  release(bytes: number): void {
    this.#used -= bytes;
    this.onReleased();
  }
}
