import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { Serializer } from '../../model/extension-points/serializer.js';
import type { Duration } from '../reading/duration.js';
import { isPlainObject } from '../reading/plain-object.js';
import {
  IsDuration,
  IsListOfTexts,
  IsNested,
  IsReference,
  IsTextLike,
  IsWholeNumber,
  Property,
} from './property-decorators.js';
import { nearestName } from '../../model/nearest-name.js';
import { show } from '../reading/format-value.js';

export const FORMAT_NAMES = ['json', 'typed-json', 'text', 'raw', 'avro'] as const;

export type FormatName = (typeof FORMAT_NAMES)[number];

/** A class that a type id may stand for. It is made without arguments. */
export type TypeClass = new () => object;

const has = (value: unknown, method: string): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Readonly<Record<string, unknown>>)[method] === 'function';

const isFormatName = (value: unknown): boolean => FORMAT_NAMES.some((name) => name === value);

/** A format by its name, or an object of the user's own, which is used as it is. */
export function IsDeserializer(): PropertyDecorator {
  const names = FORMAT_NAMES.map(show).join(', ');
  return Property({
    kind: 'reference',
    rule: 'REFERENCE',
    choices: FORMAT_NAMES,
    accepts: (value) => isFormatName(value) || has(value, 'deserialize'),
    complaint: (value) => {
      const nearest = typeof value === 'string' ? nearestName(value, FORMAT_NAMES) : undefined;
      const hint = nearest ? ` Did you mean '${nearest}'?` : '';
      return `must be one of ${names}, or an object with the method deserialize; got ${show(value)}.${hint}`;
    },
  });
}

export const IsSerializer = (): PropertyDecorator =>
  IsReference('an object with the method serialize', (value) => has(value, 'serialize'));

const isTypes = (value: unknown): boolean =>
  isPlainObject(value) &&
  Object.entries(value).every(
    ([id, type]) => id !== '' && typeof type === 'function' && type.prototype !== undefined,
  );

export class TypedJsonProperties {
  /** What the ids in the header `__TypeId__` stand for. The highest layer that has it counts, as a whole. */
  @IsReference(
    "a plain object of classes by their ids, such as { 'com.shop.OrderPlaced': OrderPlaced }",
    isTypes,
  )
  types?: Readonly<Record<string, TypeClass>>;

  /** `com.shop` is that package, `com.shop.*` it and all below it, `*` everything that is registered. */
  @IsListOfTexts("a list of packages, such as ['com.shop.*']", (value) =>
    /^(\*|[^\s*]+(\.\*)?)$/.test(value),
  )
  trustedPackages?: readonly string[];
}

/** A text that is repeated nowhere. */
const IsSecretText = (
  pattern: RegExp,
  expectation: string,
  { canBeShown = (_text: string): boolean => false } = {},
): PropertyDecorator =>
  Property({
    kind: 'text',
    rule: 'TEXT',
    secret: true,
    accepts: (value) => typeof value === 'string' && pattern.test(value),
    complaint: (value) => {
      const shown = typeof value === 'string' && !canBeShown(value) ? 'another text' : show(value);
      return `must be ${expectation}; got ${shown}.`;
    },
  });

export class RegistryCredentialsProperties {
  @IsSecretText(/^[^:]+$/, 'a text without a colon')
  username?: string;

  @IsSecretText(/./, 'a text')
  password?: string;
}

export class SchemaRegistryProperties {
  /** With its path, as in `http://registry:8080/apis/ccompat/v7`. */
  @IsSecretText(
    /^https?:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/,
    'the address of a schema registry: http:// or https://, its credentials in auth',
    { canBeShown: (text) => !text.includes('@') },
  )
  url?: string;

  @IsNested(() => RegistryCredentialsProperties, { secret: true })
  auth?: RegistryCredentialsProperties;

  /** Sent with each request. */
  @IsReference(
    "a plain object of texts, such as { authorization: 'Bearer …' }",
    (value) =>
      isPlainObject(value) && Object.values(value).every((each) => typeof each === 'string'),
    { secret: true },
  )
  headers?: Readonly<Record<string, string>>;

  /** Of one request. */
  @IsDuration({ min: 1 })
  timeoutMs?: Duration;

  /** Schemas that are kept in memory, per binding. */
  @IsWholeNumber({ max: 1_000_000 })
  cacheSize?: number;
}

export class SchemaVersionProperties {
  /** A header; a name that begins with `$.` is a field of the value instead. */
  @IsTextLike(
    /^(?!\$)\S{1,200}$|^\$(\.[^.\s]+)+$/,
    "the name of a header, or '$.' and the path of a field in the value",
  )
  from?: string;

  /** Records of any other version are refused. Empty: none is looked at. */
  @IsListOfTexts("a list of versions, such as ['1', '2']", (value) => value.length > 0)
  supported?: readonly string[];
}

/** How values become bytes and bytes values. */
export class FormatProperties {
  /** How values are read. `'avro'` where a schema registry is given, `'typed-json'` where types are, else `'json'`. */
  @IsDeserializer()
  deserializer?: FormatName | Deserializer;

  /** How `EventPublisher` writes events; without it, as the deserializer reads them. */
  @IsSerializer()
  serializer?: Serializer;

  @IsNested(() => TypedJsonProperties)
  typedJson?: TypedJsonProperties;

  @IsNested(() => SchemaRegistryProperties, { secret: true })
  schemaRegistry?: SchemaRegistryProperties;

  @IsNested(() => SchemaVersionProperties)
  schemaVersion?: SchemaVersionProperties;
}
