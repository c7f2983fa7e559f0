/**
 * Protects values from class-transformer, which runs constructors, clones Buffers and Maps, and calls
 * functions. Every value that is not a literal is replaced by a symbol and put back afterwards, so that
 * the result refers to the same object.
 */
export class ValuesByReference {
  readonly #hidden = new Map<symbol, unknown>();

  /** Returns texts, numbers and flags unchanged, and a placeholder for everything else. */
  takeOut(value: unknown): unknown {
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
    const placeholder = Symbol('opaque');
    this.#hidden.set(placeholder, value);
    return placeholder;
  }

  /** Replaces the placeholders in the given tree, which class-transformer has just created. */
  putBack<T extends object>(tree: T): T {
    for (const [key, value] of Object.entries(tree) as [string, unknown][]) {
      if (typeof value === 'symbol') Reflect.set(tree, key, this.#hidden.get(value));
      else if (typeof value === 'object' && value !== null) this.putBack(value);
    }
    return tree;
  }
}
