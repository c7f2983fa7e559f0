/**
 * Lets one user at a time have a connection of SQLite. A transaction lasts over several turns of
 * the event loop, and without the mutex the statements of others would become a part of it.
 */
export class SqliteMutex {
  #last: Promise<void> = Promise.resolve();

  /** Waits for its turn. Returns the function that ends it. */
  async acquire(): Promise<() => void> {
    const before = this.#last;
    let release = (): void => undefined;
    this.#last = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }
}

const mutexes = new WeakMap<object, SqliteMutex>();

export function sqliteMutexOf(database: object): SqliteMutex {
  const mutex = mutexes.get(database) ?? new SqliteMutex();
  mutexes.set(database, mutex);
  return mutex;
}
