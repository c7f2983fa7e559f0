// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';

/**
 * Declarations that decorators of one kind store on a class or a method. A list is replaced, never
 * changed, because a subclass may have inherited it.
 */
export class DeclarationList<T> {
  readonly #key: symbol;

  /**
   * Uses a global symbol, so that the key is the same in every copy of this package that an
   * application loads.
   */
  constructor(name: string) {
    this.#key = Symbol.for(`nest-event-bus:${name}`);
  }

  /** Adds at the front: decorators run from the bottom up, and the list is in the order of the source. */
  add(declaration: T, carrier: object): void {
    Reflect.defineMetadata(this.#key, [declaration, ...this.of(carrier)], carrier);
  }

  /** Returns the declarations of the class or method itself. */
  of(carrier: object): readonly T[] {
    return (Reflect.getOwnMetadata(this.#key, carrier) as readonly T[] | undefined) ?? [];
  }

  /** Returns the declarations of a class, or of its nearest base class that has some. */
  nearest(type: object): readonly T[] {
    return (Reflect.getMetadata(this.#key, type) as readonly T[] | undefined) ?? [];
  }

  /** Returns the declarations of a class and of all its base classes. */
  all(type: object): readonly T[] {
    const parent = Reflect.getPrototypeOf(type);
    const inherited = parent === null || parent === Function.prototype ? [] : this.all(parent);
    return [...inherited, ...this.of(type)];
  }
}
