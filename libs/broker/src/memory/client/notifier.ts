import { Deferred } from '../../runtime/index.js';

/** Wakes whoever waits for the next ring. */
export class Bell {
  #next = new Deferred();

  ring(): void {
    const rung = this.#next;
    this.#next = new Deferred();
    rung.resolve();
  }

  /** Take it before looking at what the ring may be about, then nothing is missed. */
  get next(): Promise<void> {
    return this.#next.promise;
  }
}
