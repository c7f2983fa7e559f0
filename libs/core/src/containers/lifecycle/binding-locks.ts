/** One command at a time per binding; commands of different bindings never wait for each other. */
export class BindingLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** How many bindings have a command running or waiting: 0 when all is quiet. */
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
      // The last one out removes the entry: a destroyed binding leaves nothing behind.
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
