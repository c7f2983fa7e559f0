/**
 * Caches answers that are expensive to get. Keeps the last ones used. Callers that ask for the same
 * key at the same time share one request.
 */
export class LookupCache<Key, Value> {
  readonly #known = new Map<Key, Value>();
  readonly #pending = new Map<Key, Promise<Value>>();

  constructor(private readonly size: number) {}

  get(key: Key): Value | undefined {
    const value = this.#known.get(key);
    if (value === undefined) return undefined;
    // A Map keeps the order of insertion, so the first entry is the least recently used.
    this.#known.delete(key);
    this.#known.set(key, value);
    return value;
  }

  /** Does not cache a failure: the next caller asks again. */
  find(key: Key, lookUp: (key: Key) => Promise<Value>): Promise<Value> {
    const underWay = this.#pending.get(key);
    if (underWay) return underWay;
    const lookingUp = this.#load(key, lookUp);
    this.#pending.set(key, lookingUp);
    return lookingUp;
  }

  async #load(key: Key, lookUp: (key: Key) => Promise<Value>): Promise<Value> {
    try {
      const value = await lookUp(key);
      this.#store(key, value);
      return value;
    } finally {
      this.#pending.delete(key);
    }
  }

  #store(key: Key, value: Value): void {
    this.#known.set(key, value);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.size && oldest !== undefined) this.#known.delete(oldest);
  }
}
