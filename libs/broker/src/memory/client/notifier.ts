import { Deferred } from '../../runtime/index.js';

/** Wakes whoever waits for the next ring. */
export class Notifier {
  #next = new Deferred();

  notify(): void {
    const current = this.#next;
    this.#next = new Deferred();
    current.resolve();
  }

  /** Take it before looking at what the ring may be about, then nothing is missed. */
  get next(): Promise<void> {
    return this.#next.promise;
  }
}
