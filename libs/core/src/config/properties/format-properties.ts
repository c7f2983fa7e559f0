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
import { formatValue } from '../reading/format-value.js';

export const FORMAT_NAMES = ['json', 'typed-json', 'text', 'raw', 'avro'] as const;

export type FormatName = (typeof FORMAT_NAMES)[number];

export const KEY_FORMAT_NAMES = ['auto', 'text', 'raw', 'json', 'avro'] as const;

export type KeyFormatName = (typeof KEY_FORMAT_NAMES)[number];

/** Class for a type id. It is instantiated without arguments. */
export type TypeClass = new () => object;

const has = (value: unknown, method: string): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Readonly<Record<string, unknown>>)[method] === 'function';

/** Accepts the name of a format, or an object of the application, which is used by reference. */
export function IsDeserializer(choices: readonly string[]): PropertyDecorator {
  const names = choices.map(formatValue).join(', ');
  return Property({
    kind: 'reference',
    rule: 'REFERENCE',
    choices,
    accepts: (value) => choices.some((name) => name === value) || has(value, 'deserialize'),
    complaint: (value) => {
      const nearest = typeof value === 'string' ? nearestName(value, choices) : undefined;
      const hint = nearest ? ` Did you mean '${nearest}'?` : '';
      return `must be one of ${names}, or an object with the method deserialize; got ${formatValue(value)}.${hint}`;
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

/** Configures the format `typed-json`. */
export class TypedJsonProperties {
  /**
   * Lists the classes by the ids in the header `__TypeId__`. The lists of several sources are not
   * merged: that of the highest source is used.
   *
   * @defaultValue `{}`
   */
  @IsReference(
    "a plain object of classes by their ids, such as { 'com.shop.OrderPlaced': OrderPlaced }",
    isTypes,
  )
  types?: Readonly<Record<string, TypeClass>>;

  /**
   * Lists the packages whose ids are accepted. `com.shop` is that package, `com.shop.*` includes
   * its subpackages, `*` accepts every registered class.
   *
   * @defaultValue `['*']`
   */
  @IsListOfTexts("a list of packages, such as ['com.shop.*']", (value) =>
    /^(\*|[^\s*]+(\.\*)?)$/.test(value),
  )
  trustedPackages?: readonly string[];
}

/** Accepts a text that must not appear in messages or logs. */
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
      const shown =
        typeof value === 'string' && !canBeShown(value) ? 'another text' : formatValue(value);
      return `must be ${expectation}; got ${shown}.`;
    },
  });

/**
 * Configures the credentials for a schema registry. They are never repeated in an error or a log
 * line.
 */
export class RegistryCredentialsProperties {
  /**
   * Sets the user name. It must not contain a colon.
   *
   * @defaultValue none
   */
  @IsSecretText(/^[^:]+$/, 'a text without a colon')
  username?: string;

  /**
   * Sets the password. The value is never repeated in an error or a log line.
   *
   * @defaultValue none
   */
  @IsSecretText(/./, 'a text')
  password?: string;
}

/** Refuses what HTTP refuses. White space around the value is ignored, as at the end of a file. */
const isHeaderValue = (value: unknown): boolean =>
  typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value.trim());

/** Configures the schema registry for Avro. */
export class SchemaRegistryProperties {
  /**
   * Sets the address of a registry with Confluent's REST interface, with its path, as in
   * `http://registry:8080/apis/ccompat/v7`. Credentials belong to `auth`.
   *
   * @defaultValue none
   */
  @IsSecretText(
    /^https?:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/,
    'the address of a schema registry: http:// or https://, its credentials in auth',
    { canBeShown: (text) => /^([a-z]+:\/\/)?[\w.-]+(:\d+)?\/?$/.test(text) },
  )
  url?: string;

  /** Sets the credentials for basic authentication. */
  @IsNested(() => RegistryCredentialsProperties, { secret: true })
  auth?: RegistryCredentialsProperties;

  /**
   * Adds headers to each request, such as a bearer token.
   *
   * @defaultValue none
   */
  @IsReference(
    "a plain object of texts without line breaks, such as { authorization: 'Bearer …' }",
    (value) => isPlainObject(value) && Object.values(value).every(isHeaderValue),
    { secret: true },
  )
  headers?: Readonly<Record<string, string>>;

  /**
   * Limits the time for one request.
   *
   * @defaultValue `5000`
   */
  @IsDuration({ min: 1 })
  timeoutMs?: Duration;

  /**
   * Limits how many schemas are kept in memory, for each binding.
   *
   * @defaultValue `1000`
   */
  @IsWholeNumber({ max: 1_000_000 })
  cacheSize?: number;
}

/** Configures the check of schema versions. */
export class SchemaVersionProperties {
  /**
   * Names the header with the schema version. A name that begins with `$.` is a field of the value.
   * It is refused without `supported`.
   *
   * @defaultValue `'schema-version'`
   */
  @IsTextLike(
    /^(?!\$)\S{1,200}$|^\$(\.[^.\s]+)+$/,
    "the name of a header, or '$.' and the path of a field in the value",
  )
  from?: string;

  /**
   * Lists the versions that are accepted. Other records become dead letters. An empty list switches
   * the check off.
   *
   * @defaultValue `[]`
   */
  @IsListOfTexts("a list of versions, such as ['1', '2']", (value) => value.length > 0)
  supported?: readonly string[];
}

/** Configures how values are decoded and encoded. */
export class FormatProperties {
  /**
   * Selects how values are decoded: a format by its name, or an object with the method
   * `deserialize`.
   *
   * @defaultValue `'json'`; `'avro'` if `schemaRegistry.url` is set, `'typed-json'` if
   * `typedJson.types` has entries
   */
  @IsDeserializer(FORMAT_NAMES)
  deserializer?: FormatName | Deserializer;

  /**
   * Selects how keys are decoded. `'auto'` gives text, or a Buffer if the bytes are not UTF-8 or hold
   * control characters. `'text'` dead-letters such a record, `'raw'` always gives a Buffer, `'json'`
   * and `'avro'` decode as for values. An object has the method `deserialize`.
   *
   * @defaultValue `'auto'`
   */
  @IsDeserializer(KEY_FORMAT_NAMES)
  keyDeserializer?: KeyFormatName | Deserializer;

  /**
   * Selects how `EventPublisher` encodes events: an object with the method `serialize`.
   *
   * @defaultValue the format that the deserializer reads
   */
  @IsSerializer()
  serializer?: Serializer;

  /** Configures the format `typed-json`. */
  @IsNested(() => TypedJsonProperties)
  typedJson?: TypedJsonProperties;

  /** Configures the schema registry for Avro. */
  @IsNested(() => SchemaRegistryProperties, { secret: true })
  schemaRegistry?: SchemaRegistryProperties;

  /** Configures the check of schema versions. */
  @IsNested(() => SchemaVersionProperties)
  schemaVersion?: SchemaVersionProperties;
}
