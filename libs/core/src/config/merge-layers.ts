import { isPlainObject, type PlainObject } from './plain-object.js';

/** What one place says, already checked. */
export interface Layer {
  /** For messages: `the options`, `preset 'brokers'`, `@EventHandler on OrderHandlers.onPlaced`. */
  readonly source: string;
  /** From where its own keys are counted: `bindings.orders`, `defaults`. */
  readonly path: string;
  readonly values: PlainObject;
  /** Keys that it got wrong and that are therefore missing from the values. `''` is all of them. */
  readonly broken?: readonly string[];
}

export interface Merged {
  readonly values: PlainObject;
  /** Which layer a value came from, by the path of its key. */
  readonly origins: ReadonlyMap<string, Layer>;
}

/** The highest layer comes first and wins, key by key. A list is one value: it is never mixed. */
export function mergeLayers(layers: readonly Layer[]): Merged {
  const origins = new Map<string, Layer>();
  const sections = layers.map((layer) => ({ layer, section: layer.values }));
  return { values: mergeSections(sections, '', origins), origins };
}

interface Section {
  readonly layer: Layer;
  readonly section: PlainObject;
}

function mergeSections(
  sections: readonly Section[],
  prefix: string,
  origins: Map<string, Layer>,
): PlainObject {
  const merged: Record<string, unknown> = {};
  for (const key of new Set(sections.flatMap(({ section }) => Object.keys(section)))) {
    const path = `${prefix}${key}`;
    const given = sections.filter(({ section }) => section[key] !== undefined);
    const [highest] = given;
    if (!highest) continue;
    const inner = highest.section[key];
    if (isPlainObject(inner)) merged[key] = mergeSections(innerOf(given, key), `${path}.`, origins);
    else merged[key] = inner;
    origins.set(path, highest.layer);
  }
  return merged;
}

const innerOf = (sections: readonly Section[], key: string): readonly Section[] =>
  sections.flatMap(({ layer, section }) => {
    const inner = section[key];
    return isPlainObject(inner) ? [{ layer, section: inner }] : [];
  });
