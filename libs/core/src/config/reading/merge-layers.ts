import { isPlainObject, isSettings, type PlainObject } from './plain-object.js';

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

/**
 * The highest layer comes first and wins, key by key. A list is one value, and so is what has
 * methods: neither is ever mixed. But where one layer has settings under a key, all of them do: then
 * a function in them is a setting like any other.
 */
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
    const accepts = given.some(({ section }) => hasSettings(section[key]))
      ? isPlainObject
      : isSettings;
    if (accepts(inner)) {
      merged[key] = mergeSections(innerOf(given, key, accepts), `${path}.`, origins);
    } else merged[key] = inner;
    origins.set(path, highest.layer);
  }
  return merged;
}

const hasSettings = (value: unknown): boolean => isSettings(value) && Object.keys(value).length > 0;

const innerOf = (
  sections: readonly Section[],
  key: string,
  accepts: (value: unknown) => value is PlainObject,
): readonly Section[] =>
  sections.flatMap(({ layer, section }) => {
    const inner = section[key];
    return accepts(inner) ? [{ layer, section: inner }] : [];
  });
