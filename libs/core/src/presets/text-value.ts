import type { PropertiesClass, PropertyShape } from '../config/properties/property-decorators.js';
import { propertiesOf } from '../config/properties/property-tree.js';
import type { OptionPath } from './options-builder.js';

/**
 * Returns the declared shape of an option. Throws for an unknown key, which is a mistake in a
 * loader's table.
 */
export function optionShape(type: PropertiesClass, [key, ...rest]: OptionPath): PropertyShape {
  const shape = propertiesOf(type).get(String(key));
  if (!shape)
    throw new TypeError(
      `There is no option ${key}. Look for its name in docs/reference/options.md.`,
    );
  // Skips the first key below a map, because it is the name of an entry, chosen by the user.
  const nested = shape.kind === 'map' ? rest.slice(1) : rest;
  return nested.length > 0 && shape.type ? optionShape(shape.type(), nested) : shape;
}

/**
 * Converts a text from the environment or a properties file to the type of the option. A text that
 * cannot be converted is kept, so that the validator can report the value and its key.
 */
export function fromText(shape: PropertyShape, text: string): unknown {
  const value = text.trim();
  switch (shape.kind) {
    case 'number':
    case 'duration':
      return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    case 'flag':
    case 'reference':
      return asFlag(value);
    case 'choice':
      return shape.choices?.find((choice) => String(choice) === value) ?? value;
    case 'choices':
    case 'list':
    case 'matchers':
      return splitList(value);
    case 'text':
    case 'texts':
    case 'matcher':
    case 'nested':
    case 'nested-list':
    case 'map':
      return value;
  }
}

const asFlag = (value: string): unknown =>
  value === 'true' ? true : value === 'false' ? false : value;

export const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
