/** Answers that were expensive to get: the last ones used are kept, and who asks while one is under way shares it. */
export class SharedLookups<Key, Value> {
  readonly #known = new Map<Key, Value>();
  readonly #underWay = new Map<Key, Promise<Value>>();

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
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const lookingUp = this.#lookUp(key, lookUp);
    this.#underWay.set(key, lookingUp);
    return lookingUp;
  }

  async #lookUp(key: Key, lookUp: (key: Key) => Promise<Value>): Promise<Value> {
    try {
      const value = await lookUp(key);
      this.#keep(key, value);
      return value;
    } finally {
      this.#underWay.delete(key);
    }
  }

  #keep(key: Key, value: Value): void {
    this.#known.set(key, value);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.size && oldest !== undefined) this.#known.delete(oldest);
  }
}
