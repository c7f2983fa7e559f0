import type { PropertiesClass, PropertyShape } from '../config/properties/property-decorators.js';
import { propertiesOf } from '../config/properties/property-tree.js';
import type { OptionPath } from './options-builder.js';

/** What a key of a properties class wants; the tables of the loaders name no other keys. */
export function optionShape(type: PropertiesClass, [key, ...rest]: OptionPath): PropertyShape {
  const shape = propertiesOf(type).get(String(key));
  if (!shape) throw new TypeError(`There is no option ${key}.`);
  // The name of an entry is the user's own.
  const below = shape.kind === 'map' ? rest.slice(1) : rest;
  return below.length > 0 && shape.type ? optionShape(shape.type(), below) : shape;
}

/**
 * A text from the environment or a properties file as the key wants it. What does not fit stays a
 * text, so that the validator can say which value of which key is wrong.
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
