import { positiveInteger } from '../errors/checks.js';

/** A first-in first-out queue that refuses items above its capacity. */
export class BoundedQueue<T> {
  #items: T[] = [];
  #head = 0;

  constructor(
    name: string,
    private readonly capacity: number,
  ) {
    positiveInteger(name, capacity);
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  get remaining(): number {
    return this.capacity - this.size;
  }

  offer(item: T): boolean {
    if (this.remaining <= 0) return false;
    this.#items.push(item);
    return true;
  }

  take(): T | undefined {
    const item = this.#items[this.#head++];
    if (this.#head >= this.#items.length || this.#head > this.capacity) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
