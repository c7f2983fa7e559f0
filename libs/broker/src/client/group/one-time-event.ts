import { Deferred } from '../../runtime/index.js';

/**
 * An event that fires at most once, perhaps only after months. Many promises are raced against it.
 * `Promise.race` with one promise that stays pending would keep the result of every race in memory.
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

  /** Resolves with the result of the promise, or with the event if the event fires first. */
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
