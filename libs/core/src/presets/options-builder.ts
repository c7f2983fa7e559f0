import type { EventBusProperties } from '../config/properties/event-bus-properties.js';

export type OptionPath = readonly (string | number)[];

interface Node {
  value?: unknown;
  readonly children: Map<string | number, Node>;
}

const node = (): Node => ({ children: new Map() });

/** Builds options key by key. Uses maps until `build`, so that a key such as `__proto__` cannot do harm. */
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
    return toValue(this.#root) ?? {};
  }
}

/** Converts a node. Its children win over its own value: `RETRY_TIERS_0_DELAY_MS` over `RETRY_TIERS`. */
function toValue({ value, children }: Node): unknown {
  if (children.size === 0) return value;
  const entries = [...children].map(([key, child]) => [key, toValue(child)] as const);
  if (entries.every(([key]) => typeof key === 'number')) return asList(entries);
  return Object.fromEntries(entries);
}

/** Fills gaps with empty items, so that the tiers keep their numbers. */
function asList(entries: readonly (readonly [string | number, unknown])[]): readonly unknown[] {
  const byIndex = new Map(entries);
  const length = Math.max(...entries.map(([key]) => Number(key))) + 1;
  return Array.from({ length }, (_, index) => byIndex.get(index) ?? {});
}
