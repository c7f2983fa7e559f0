/** Locks that are held by one owner at a time. Waiters get a lock in the order of their calls. */
export class KeyLocks {
  readonly #waiting = new Map<string, (() => void)[]>();

  acquire(key: string): Promise<void> {
    const waiting = this.#waiting.get(key);
    if (waiting) return new Promise((resolve) => waiting.push(resolve));
    this.#waiting.set(key, []);
    return Promise.resolve();
  }

  release(key: string): void {
    const next = this.#waiting.get(key)?.shift();
    if (next) next();
    else this.#waiting.delete(key);
  }
}
