import { isPlainObject, isSettings, type PlainObject } from './plain-object.js';

/** Validated values of one source. */
export interface Layer {
  /**
   * Name of the source in messages: `the options`, `preset 'brokers'`, `@EventHandler on
   * OrderHandlers.onPlaced`.
   */
  readonly source: string;
  /** Path of the layer, to which its keys are relative: `bindings.orders`, `defaults`. */
  readonly path: string;
  readonly values: PlainObject;
  /** Keys with invalid values, which are missing from `values`. `''` means all keys. */
  readonly broken?: readonly string[];
}

export interface Merged {
  readonly values: PlainObject;
  /** Layer of each value, by the path of its key. */
  readonly origins: ReadonlyMap<string, Layer>;
}

/**
 * Merges layers key by key; the first layer is the highest and wins. A list counts as one value, and so
 * does an object with methods: they are never merged. But if one layer has a plain section under a key,
 * the other layers have a section there as well, and a function in it is an ordinary option.
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
    const defining = sections.filter(({ section }) => section[key] !== undefined);
    const [highest] = defining;
    if (!highest) continue;
    const inner = highest.section[key];
    const accepts = defining.some(({ section }) => hasSettings(section[key]))
      ? isPlainObject
      : isSettings;
    if (accepts(inner)) {
      merged[key] = mergeSections(innerOf(defining, key, accepts), `${path}.`, origins);
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
