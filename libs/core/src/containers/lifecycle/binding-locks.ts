/**
 * Runs one command at a time per binding. Commands of different bindings never wait for each other.
 */
export class BindingLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Number of bindings with a command that runs or waits. */
  get size(): number {
    return this.#tails.size;
  }

  async run<T>(key: string, command: () => Promise<T>): Promise<T> {
    const result = (this.#tails.get(key) ?? Promise.resolve()).then(command);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await result;
    } finally {
      // The last command removes the entry, so that a destroyed binding leaves nothing behind.
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
