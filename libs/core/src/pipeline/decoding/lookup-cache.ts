/** Answers that were expensive to get: the last ones used are kept, and who asks while one is under way shares it. */
export class LookupCache<Key, Value> {
  readonly #known = new Map<Key, Value>();
  readonly #pending = new Map<Key, Promise<Value>>();

  constructor(private readonly size: number) {}

  get(key: Key): Value | undefined {
    const value = this.#known.get(key);
    if (value === undefined) return undefined;
    // A Map keeps the order of insertion: the first is the one that was not used for longest.
    this.#known.delete(key);
    this.#known.set(key, value);
    return value;
  }

  /** A failure is not kept: the next one asks again. */
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
