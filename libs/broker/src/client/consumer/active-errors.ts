/** The current errors of a session, by their source, each with the time when it began. */
export class ActiveErrors {
  readonly #bySource = new Map<object, { readonly error: Error; readonly since: number }>();

  /** The error that has lasted longest. */
  get oldest(): { readonly error: Error; readonly since: number } | undefined {
    return this.#bySource.values().next().value;
  }

  /**
   * Returns whether the status changes. The status does not change if a source fails again with the
   * same message.
   */
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
