import { Deferred } from '../../runtime/index.js';

/** Wakes the code that waits for the next notification. */
export class Notifier {
  #next = new Deferred();

  notify(): void {
    const current = this.#next;
    this.#next = new Deferred();
    current.resolve();
  }

  /**
   * The next notification. A caller gets this promise before it checks its condition, so that it
   * misses no notification.
   */
  get next(): Promise<void> {
    return this.#next.promise;
  }
}
