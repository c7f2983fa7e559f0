/** The limit of bytes that are waiting or in flight. */
export class BufferBudget {
  #used = 0;
  readonly #listeners = new Set<() => void>();

  constructor(private readonly capacity: number) {}

  tryReserve(bytes: number): boolean {
    if (this.#used + bytes > this.capacity) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back when memory was released. Returns the function that stops it. */
  onFreed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
