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
   * The next notification. Get this promise before checking the condition, so that no notification
   * is missed.
   */
  get next(): Promise<void> {
    return this.#next.promise;
  }
}
