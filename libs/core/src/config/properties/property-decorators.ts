// Needed by @Type of class-transformer, which reads design:type. Nest imports it as well, but
// `/presets` may be used without Nest.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { durationComplaint, parseDuration } from '../reading/duration.js';
import { nearestName } from '../../model/nearest-name.js';
import { isPlainObject } from '../reading/plain-object.js';
import { formatValue } from '../reading/format-value.js';

export type PropertiesClass = new () => object;

/**
 * Kind of a value. It decides in which form class-transformer gets the value, and how a text from
 * the environment is converted.
 */
export type PropertyKind =
  | 'text'
  | 'texts'
  | 'flag'
  | 'number'
  | 'duration'
  | 'choice'
  | 'choices'
  | 'list'
  | 'matcher'
  | 'matchers'
  | 'reference'
  | 'nested'
  | 'nested-list'
  | 'map';

/** Describes an option for the validator, the reader and the loaders. */
export interface PropertyShape {
  readonly kind: PropertyKind;
  /** Name of the rule that an invalid value breaks. */
  readonly rule: string;
  readonly accepts: (value: unknown) => boolean;
  /** Returns the message for a refused value: what is wrong, and what is expected. */
  readonly complaint: (value: unknown) => string;
  readonly choices?: readonly (string | boolean)[];
  /** Class of a nested object, of the items of a list, or of the entries of a map. */
  readonly type?: () => PropertiesClass;
  /** True if the value must not appear in messages. */
  readonly secret?: boolean;
  /** Keys that the value may have if it is an object. If absent, the keys are not checked. */
  readonly knownKeys?: readonly string[];
  /** Converts a reference before it is stored. If absent, the reference is stored unchanged. */
  readonly kept?: (value: unknown) => unknown;
}

export const PROPERTY_CONTEXT = 'eventBusProperty';

/**
 * Declares an option. No layer must set it: whether a required option is set is checked after the
 * layers are merged.
 */
export function Property(shape: PropertyShape): PropertyDecorator {
  const decorators = [
    ValidateIf((_, value) => value !== undefined),
    ValidateBy(
      { name: PROPERTY_CONTEXT, validator: { validate: (value) => shape.accepts(value) } },
      { message: ({ value }) => shape.complaint(value), context: shape },
    ),
    ...(shape.type && shape.kind !== 'map' ? [ValidateNested(), Type(shape.type)] : []),
  ];
  return (target, key) => decorators.forEach((decorate) => decorate(target, key));
}

const mustBe = (expectation: string) => (value: unknown) =>
  `must be ${expectation}; got ${formatValue(value)}.`;

export function IsText(): PropertyDecorator {
  return Property({ kind: 'text', rule: 'TEXT', accepts: isText, complaint: mustBe(TEXT) });
}

const TEXT = 'a text that is neither empty nor surrounded by white space';
const isText = (value: unknown): boolean =>
  typeof value === 'string' && value.length > 0 && value.trim() === value;

/** Accepts a text that matches a pattern; `expectation` describes the pattern in words. */
export function IsTextLike(pattern: RegExp, expectation: string, rule = 'TEXT'): PropertyDecorator {
  return Property({
    kind: 'text',
    rule,
    accepts: (value) => typeof value === 'string' && pattern.test(value),
    complaint: mustBe(expectation),
  });
}

export function IsTextOrTexts(expectation: string): PropertyDecorator {
  return Property({
    kind: 'texts',
    rule: 'TEXT',
    accepts: (value) => typeof value === 'string' || isListOf(value, isString),
    complaint: mustBe(expectation),
  });
}

const isString = (value: unknown): boolean => typeof value === 'string';
const isListOf = (value: unknown, accepts: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && Array.from<unknown>(value).every(accepts);

/** Accepts a list of texts, which may be empty. */
export function IsListOfTexts(
  expectation: string,
  accepts: (text: string) => boolean,
): PropertyDecorator {
  return Property({
    kind: 'list',
    rule: 'LIST',
    accepts: (value) => isListOf(value, (item) => typeof item === 'string' && accepts(item)),
    complaint: mustBe(expectation),
  });
}

export function IsFlag(): PropertyDecorator {
  return Property({
    kind: 'flag',
    rule: 'FLAG',
    accepts: (value) => typeof value === 'boolean',
    complaint: mustBe('true or false'),
  });
}

export function IsWholeNumber({ min = 1, max = 2 ** 31 - 1 } = {}): PropertyDecorator {
  const range = max === 2 ** 31 - 1 ? `of at least ${min}` : `from ${min} to ${max}`;
  return Property({
    kind: 'number',
    rule: 'NUMBER',
    accepts: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    complaint: mustBe(`a whole number ${range}`),
  });
}

/** Accepts a percentage above 0, up to 100. */
export function IsPercentage(): PropertyDecorator {
  return Property({
    kind: 'number',
    rule: 'NUMBER',
    accepts: (value) => typeof value === 'number' && value > 0 && value <= 100,
    complaint: mustBe('a number of per cent above 0, up to 100'),
  });
}

export function IsMultiplier(): PropertyDecorator {
  return Property({
    kind: 'number',
    rule: 'NUMBER',
    accepts: (value) => typeof value === 'number' && value >= 1 && value <= 1_000,
    complaint: mustBe('a number from 1 to 1000'),
  });
}

export function IsDuration({ min = 0 } = {}): PropertyDecorator {
  return Property({
    kind: 'duration',
    rule: 'DURATION',
    accepts: (value) => durationComplaint(value) === undefined && parseDuration(value) >= min,
    complaint: (value) => {
      const least = `must be a duration of at least ${min} ms; got ${formatValue(value)}.`;
      const why = durationComplaint(value);
      return why ? `${least} ${why}` : least;
    },
  });
}

export function IsOneOf(
  choices: readonly (string | boolean)[],
  { rule = 'CHOICE', remedy = '' } = {},
): PropertyDecorator {
  return Property({
    kind: 'choice',
    rule,
    choices,
    accepts: (value) => choices.some((choice) => choice === value),
    complaint: (value) =>
      [mustBe(oneOf(choices))(value), suggestionFor(value, choices), remedy]
        .filter(Boolean)
        .join(' '),
  });
}

/**
 * Accepts a list of choices without duplicates. With `orOne` it also accepts a single choice that
 * is not in a list.
 */
export function IsListOf(choices: readonly string[], { orOne = false } = {}): PropertyDecorator {
  const isChoice = (value: unknown): boolean => choices.some((choice) => choice === value);
  const isList = (value: unknown): boolean =>
    isListOf(value, isChoice) &&
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length;
  return Property({
    kind: 'choices',
    rule: 'CHOICE',
    choices,
    accepts: (value) => isList(value) || (orOne && isChoice(value)),
    complaint: (value) => {
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      const invalid = items.find((item) => !isChoice(item));
      const expectation = `${orOne ? 'one or a list' : 'a list'} of ${choices.map(formatValue).join(', ')}, each at most once`;
      return [
        `must be ${expectation}; got ${Array.isArray(value) ? `[${items.map(formatValue).join(', ')}]` : formatValue(value)}.`,
        suggestionFor(invalid, choices),
      ]
        .filter(Boolean)
        .join(' ');
    },
  });
}

const oneOf = (choices: readonly (string | boolean)[]): string =>
  choices.length === 1 ? formatValue(choices[0]) : `one of ${choices.map(formatValue).join(', ')}`;

function suggestionFor(value: unknown, choices: readonly (string | boolean)[]): string {
  if (typeof value !== 'string') return '';
  const nearest = nearestName(
    value,
    choices.filter((choice) => typeof choice === 'string'),
  );
  return nearest ? `Did you mean '${nearest}'?` : '';
}

/**
 * Accepts a value that is used by reference: it is not copied or frozen. Only its keys are checked,
 * if they are known.
 */
export function IsReference(
  expectation: string,
  accepts: (value: unknown) => boolean,
  { secret = false, kept, knownKeys }: Pick<PropertyShape, 'secret' | 'kept' | 'knownKeys'> = {},
): PropertyDecorator {
  return Property({
    kind: 'reference',
    rule: 'REFERENCE',
    accepts,
    complaint: secret ? mustBeSecretly(expectation) : mustBe(expectation),
    secret,
    kept,
    knownKeys,
  });
}

/**
 * Leaves a text out of the message, because it may be a password that was written to the wrong
 * option.
 */
const mustBeSecretly = (expectation: string) => (value: unknown) =>
  `must be ${expectation}; got ${typeof value === 'string' ? 'a text' : formatValue(value)}.`;

export function IsNested(type: () => PropertiesClass, { secret = false } = {}): PropertyDecorator {
  return Property({
    kind: 'nested',
    rule: 'OBJECT',
    type,
    accepts: (value) => value instanceof type(),
    complaint: secret ? mustBeSecretly('a plain object') : mustBe('a plain object'),
    secret,
  });
}

export function IsNestedList(type: () => PropertiesClass): PropertyDecorator {
  return Property({
    kind: 'nested-list',
    rule: 'LIST',
    type,
    accepts: (value) => isListOf(value, (item) => item instanceof type()),
    complaint: (value) => {
      if (!Array.isArray(value)) return mustBe('a list of plain objects')(value);
      const index = Array.from<unknown>(value).findIndex((item) => !(item instanceof type()));
      return `must be a list of plain objects; item ${index} is ${formatValue(value[index])}.`;
    },
  });
}

/**
 * Accepts an object whose keys the user chooses. class-validator ignores its entries, so each entry
 * is read separately.
 */
export function IsMapOf(type: () => PropertiesClass): PropertyDecorator {
  return Property({
    kind: 'map',
    rule: 'OBJECT',
    type,
    accepts: isPlainObject,
    complaint: mustBe('a plain object with one entry per name'),
  });
}
