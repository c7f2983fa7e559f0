/**
 * class-transformer runs the constructors of what it finds, clones Buffers and Maps, and calls
 * functions. So whatever is not a literal is taken out, a symbol in its place, and put back
 * afterwards: the very same value, by reference.
 */
export class ValuesByReference {
  readonly #hidden = new Map<symbol, unknown>();

  /** A text, number or flag goes through as it is. Everything else gets a stand-in. */
  takeOut(value: unknown): unknown {
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
    const standIn = Symbol('opaque');
    this.#hidden.set(standIn, value);
    return standIn;
  }

  /** Changes the given tree, which class-transformer has just made. */
  putBack<T extends object>(tree: T): T {
    for (const [key, value] of Object.entries(tree) as [string, unknown][]) {
      if (typeof value === 'symbol') Reflect.set(tree, key, this.#hidden.get(value));
      else if (typeof value === 'object' && value !== null) this.putBack(value);
    }
    return tree;
  }
}
