import type { EventBusProperties } from '../config/properties/event-bus-properties.js';

export type OptionPath = readonly (string | number)[];

interface Node {
  value?: unknown;
  readonly children: Map<string | number, Node>;
}

const node = (): Node => ({ children: new Map() });

/** Puts options together key by key. Kept in maps until the end, so that no key can be a trap. */
export class OptionsBuilder {
  readonly #root = node();

  set(path: OptionPath, value: unknown): this {
    let at = this.#root;
    for (const key of path) {
      const next = at.children.get(key) ?? node();
      at.children.set(key, next);
      at = next;
    }
    at.value = value;
    return this;
  }

  build(): Partial<EventBusProperties> {
    return plain(this.#root) ?? {};
  }
}

/** Children beat a value of the whole: `RETRY_TIERS_0_DELAY_MS` beside `RETRY_TIERS`. */
function plain({ value, children }: Node): unknown {
  if (children.size === 0) return value;
  const entries = [...children].map(([key, child]) => [key, plain(child)] as const);
  if (entries.every(([key]) => typeof key === 'number')) return asList(entries);
  return Object.fromEntries(entries);
}

/** A gap is an empty item, so that the numbers of tiers stay what was written. */
function asList(entries: readonly (readonly [string | number, unknown])[]): readonly unknown[] {
  const byIndex = new Map(entries);
  const length = Math.max(...entries.map(([key]) => Number(key))) + 1;
  return Array.from({ length }, (_, index) => byIndex.get(index) ?? {});
}
