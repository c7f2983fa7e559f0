import { Deferred } from '../../runtime/index.js';

/**
 * Something that happens once, perhaps not for months, and that much is weighed against meanwhile.
 * `Promise.race` with its promise would keep the result of every race for as long.
 */
export class OneTimeEvent<T> {
  readonly #waiting = new Set<Deferred<T>>();
  readonly #fired = new Deferred<T>();
  #hasFired = false;

  fire(value: T): void {
    this.#hasFired = true;
    this.#fired.resolve(value);
    for (const waiting of this.#waiting) waiting.resolve(value);
    this.#waiting.clear();
  }

  /** Gives the promise's result or, where that comes first, what has happened. */
  async raceWith<U>(promise: Promise<U>): Promise<T | U> {
    if (this.#hasFired) return Promise.race([promise, this.#fired.promise]);
    const waiting = new Deferred<T>();
    this.#waiting.add(waiting);
    try {
      return await Promise.race([promise, waiting.promise]);
    } finally {
      this.#waiting.delete(waiting);
    }
  }
}
