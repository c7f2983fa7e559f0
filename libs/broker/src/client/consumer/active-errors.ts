/** What goes wrong at the moment, by its source, with when it began. */
export class ActiveErrors {
  readonly #bySource = new Map<object, { readonly error: Error; readonly since: number }>();

  /** The one that lasts longest. */
  get oldest(): { readonly error: Error; readonly since: number } | undefined {
    return this.#bySource.values().next().value;
  }

  /** Returns whether the picture changed: a source that goes on failing is no news. */
  add(source: object, error: Error, now: number): boolean {
    const known = this.#bySource.get(source);
    this.#bySource.set(source, { error, since: known?.since ?? now });
    return known?.error.message !== error.message;
  }

  remove(source: object): boolean {
    return this.#bySource.delete(source);
  }

  clear(): void {
    this.#bySource.clear();
  }
}
