import type { TypeClass } from '../../config/properties/format-properties.js';
import { isTrusted } from '../../config/resolving/trusted-packages.js';
import { shownValue } from '../../errors/texts/shown-value.js';
import { UnreadableValueError } from './unreadable-value-error.js';

/**
 * Maps type ids to classes, and decides which ids are trusted. Ids come from records, so a class is
 * never loaded by its name.
 */
export class TypeRegistry {
  readonly #classes: ReadonlyMap<string, TypeClass>;
  readonly #ids: ReadonlyMap<unknown, string>;
  readonly #trustedPackages: readonly string[];

  constructor(types: Readonly<Record<string, TypeClass>>, trustedPackages: readonly string[]) {
    const entries = Object.entries(types);
    this.#classes = new Map(entries);
    // If a class has several ids, the first one is written.
    this.#ids = new Map(entries.toReversed().map(([id, type]) => [type, id]));
    this.#trustedPackages = trustedPackages;
  }

  /** Returns the class of a type id. Throws if the id is not trusted or not registered. */
  classOf(id: string): TypeClass {
    const shown = describeTypeId(id);
    if (!isTrusted(this.#trustedPackages, id))
      throw new UnreadableValueError(`${shown} is in no trusted package`);
    const type = this.#classes.get(id);
    if (!type) throw new UnreadableValueError(`${shown} is not registered`);
    return type;
  }

  /** Returns undefined if the class of the event is not registered. */
  idOf(event: unknown): string | undefined {
    if (typeof event !== 'object' || event === null) return undefined;
    return this.#ids.get((Object.getPrototypeOf(event) as object | null)?.constructor);
  }
}

/** Describes a type id, which comes from a header of the record. */
export function describeTypeId(id: string): string {
  const shown = shownValue(id, '__TypeId__');
  return shown === undefined ? 'its type' : `its type '${shown}'`;
}
