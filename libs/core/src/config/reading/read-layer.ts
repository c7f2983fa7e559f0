import type { Layer } from './merge-layers.js';
import type { PropertiesClass } from '../properties/property-decorators.js';
import { readProperties } from './read-properties.js';
import { isWithin, type Violations } from '../validation/violations.js';

/** Validates one source. Invalid values are reported, and their keys are kept in `broken`. */
export function readLayer(
  type: PropertiesClass,
  {
    source,
    path,
    given,
  }: { readonly source: string; readonly path: string; readonly given: unknown },
  violations: Violations,
): Layer {
  const before = violations.all.length;
  const values = readProperties(type, given, path, violations);
  const broken = violations.all
    .slice(before)
    .filter(({ rule }) => rule !== 'UNKNOWN_KEY')
    .map((violation) => violation.path.slice(path.length).replace(/^\./, ''));
  return { source, path, values, broken };
}

/** Returns a section of a layer as a layer: the `defaults` of the options. */
export function sectionOf(layer: Layer, key: string): Layer {
  const section = layer.values[key];
  return {
    source: `the ${key} of ${layer.source}`,
    path: layer.path === '' ? key : `${layer.path}.${key}`,
    values: typeof section === 'object' && section !== null ? { ...section } : {},
    broken: (layer.broken ?? []).flatMap((broken) =>
      isWithin(broken, key) ? [broken.slice(key.length).replace(/^\./, '')] : [],
    ),
  };
}

/**
 * Returns true if some layer has an invalid value for the key. The value of a lower layer was not meant
 * to apply then, so a rule that reads it would report a value that the user did not choose.
 */
export const isBrokenIn = (layers: readonly Layer[], key: string): boolean =>
  layers.some(({ broken = [] }) =>
    broken.some((path) => path === '' || isWithin(path, key) || isWithin(key, path)),
  );
