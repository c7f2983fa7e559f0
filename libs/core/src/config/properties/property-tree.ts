import { getMetadataStorage } from 'class-validator';
import type { PropertiesClass, PropertyShape } from './property-decorators.js';

/** Returns the options of a properties class, as its decorators declare them. */
export function propertiesOf(type: PropertiesClass): ReadonlyMap<string, PropertyShape> {
  const declared = getMetadataStorage()
    .getTargetValidationMetadatas(type, '', true, false)
    .filter(({ context }) => context !== undefined)
    .map(({ propertyName, context }) => [propertyName, context as PropertyShape] as const);
  return new Map(declared);
}

/** Returns the paths of all options of a properties class: `retry.tiers[].delayMs`, `clusters.*.brokers`. */
export function keyPaths(type: PropertiesClass): readonly string[] {
  return [...propertiesOf(type)].flatMap(([key, shape]) => {
    if (!shape.type) return [key];
    const prefix = `${key}${{ map: '.*', 'nested-list': '[]' }[shape.kind as string] ?? ''}`;
    return keyPaths(shape.type()).map((path) => `${prefix}.${path}`);
  });
}
