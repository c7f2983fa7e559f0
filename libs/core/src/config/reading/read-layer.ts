import type { Layer } from './merge-layers.js';
import type { PropertiesClass } from '../properties/property-decorators.js';
import { readProperties } from './read-properties.js';
import { isWithin, type Violations } from '../validation/violations.js';

/** Checks what one place says. What it got wrong is reported, and remembered with the layer. */
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

/** A part of a layer as a layer of its own: the `defaults` of the options. */
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
 * Whether some layer got this key wrong. Then what a lower layer says about it was not meant to
 * count, and a rule that reads it would object to something nobody wrote.
 */
export const isBrokenIn = (layers: readonly Layer[], key: string): boolean =>
  layers.some(({ broken = [] }) =>
    broken.some((wrong) => wrong === '' || isWithin(wrong, key) || isWithin(key, wrong)),
  );
