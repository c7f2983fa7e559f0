import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { Serializer } from '../../model/extension-points/serializer.js';
import type {
  FormatName,
  KeyFormatName,
  RegistryCredentialsProperties,
  SchemaRegistryProperties,
  SchemaVersionProperties,
  TypedJsonProperties,
} from '../properties/format-properties.js';
import type { Merged } from '../reading/merge-layers.js';
import type { Resolved } from './resolved-binding.js';
import { below, type Violations } from '../validation/violations.js';

/** Formats in which the values of a binding are read and written. */
export interface ResolvedFormats {
  readonly deserializer: FormatName | Deserializer;
  readonly keyDeserializer: KeyFormatName | Deserializer;
  /** Absent if the serializer is that of the deserializer's format. */
  readonly serializer?: Serializer;
  readonly typedJson: Resolved<TypedJsonProperties>;
  readonly schemaRegistry: ResolvedSchemaRegistry | undefined;
  readonly schemaVersion: Resolved<SchemaVersionProperties>;
}

export interface ResolvedSchemaRegistry {
  readonly url: string;
  readonly timeoutMs: number;
  readonly cacheSize: number;
  /**
   * Returns the headers, which contain the credentials. They are behind a function, so that
   * printing the binding reveals no secret.
   */
  readonly requestHeaders: () => Readonly<Record<string, string>>;
}

type MergedRegistry = Omit<SchemaRegistryProperties, 'timeoutMs' | 'cacheSize'> & {
  readonly timeoutMs: number;
  readonly cacheSize: number;
};

type MergedFormats = Pick<
  ResolvedFormats,
  'deserializer' | 'keyDeserializer' | 'serializer' | 'typedJson'
> & {
  readonly schemaRegistry: MergedRegistry;
};

/**
 * Chooses the deserializer if it is not set: 'avro' with a schema registry, 'typed-json' with
 * registered types.
 */
export function resolveFormats(
  merged: Merged,
  isSet: (key: string) => boolean,
): Pick<ResolvedFormats, 'deserializer' | 'schemaRegistry'> {
  const { deserializer, typedJson, schemaRegistry } = formatsOf(merged);
  const registry = registryOf(schemaRegistry);
  const hasTypes = Object.keys(typedJson.types).length > 0;
  const derived = registry ? 'avro' : hasTypes ? 'typed-json' : deserializer;
  return {
    deserializer: isSet('deserializer') ? deserializer : derived,
    schemaRegistry: registry,
  };
}

/** Returns whether the binding reads Avro, in its values or in its keys. */
export function readsAvro({
  deserializer,
  keyDeserializer,
}: Pick<ResolvedFormats, 'deserializer' | 'keyDeserializer'>): boolean {
  return deserializer === 'avro' || keyDeserializer === 'avro';
}

/** Requires the options that the chosen format needs. */
export function requireFormatParts(
  merged: Merged,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { deserializer, keyDeserializer, typedJson, schemaRegistry } = formatsOf(merged);
  const requirePart = (key: string, isPresent: boolean, message: string): void => {
    if (!isPresent && !isBroken(key))
      violations.add('REQUIRED', below(path, key), undefined, message);
  };
  if (readsAvro({ deserializer, keyDeserializer }))
    requirePart(
      'schemaRegistry.url',
      schemaRegistry.url !== undefined,
      "is missing: Avro is read by the schemas of a registry. Add schemaRegistry: { url: 'http://registry:8081' }, or choose another deserializer.",
    );
  if (deserializer === 'typed-json')
    requirePart(
      'typedJson.types',
      Object.keys(typedJson.types).length > 0,
      "is empty: every value that names its type would be refused. Register the classes, types: { 'com.shop.OrderPlaced': OrderPlaced }, or use deserializer: 'json'.",
    );
  const { auth } = schemaRegistry;
  if (auth)
    for (const key of ['username', 'password'] as const)
      requirePart(
        `schemaRegistry.auth.${key}`,
        auth[key] !== undefined,
        'is missing: a registry wants both, a username and a password. For a token use schemaRegistry.headers.',
      );
}

const formatsOf = ({ values }: Merged): MergedFormats => values as unknown as MergedFormats;

function registryOf({
  url,
  auth,
  headers,
  ...rest
}: MergedRegistry): ResolvedSchemaRegistry | undefined {
  if (url === undefined) return undefined;
  const requestHeaders = (): Readonly<Record<string, string>> => ({
    ...(auth && { authorization: basic(auth) }),
    ...headers,
  });
  return Object.freeze({ url: url.replace(/\/+$/, ''), ...rest, requestHeaders });
}

function basic({ username, password }: RegistryCredentialsProperties): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
