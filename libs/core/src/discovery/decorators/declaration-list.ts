// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';

/** What decorators of one kind leave on a class or a method. Lists are replaced, never changed. */
export class DeclarationList<T> {
  readonly #key: symbol;

  /** The key is the same in every copy of this package that an application may load. */
  constructor(name: string) {
    this.#key = Symbol.for(`nest-event-bus:${name}`);
  }

  /** Decorators run from the bottom up; the list reads from the top down. */
  add(declaration: T, carrier: object): void {
    Reflect.defineMetadata(this.#key, [declaration, ...this.of(carrier)], carrier);
  }

  /** Of the carrier itself. */
  of(carrier: object): readonly T[] {
    return (Reflect.getOwnMetadata(this.#key, carrier) as readonly T[] | undefined) ?? [];
  }

  /** Of a class, or else of the nearest one it extends. */
  nearest(type: object): readonly T[] {
    return (Reflect.getMetadata(this.#key, type) as readonly T[] | undefined) ?? [];
  }

  /** Of a class and of all that it extends. */
  all(type: object): readonly T[] {
    const parent = Reflect.getPrototypeOf(type);
    const inherited = parent === null || parent === Function.prototype ? [] : this.all(parent);
    return [...inherited, ...this.of(type)];
  }
}
