import { ownError } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { AvroPackage, AvroType } from './avro-package.js';
import { AvroParser } from './avro-parser.js';
import type {
  RegisteredSchema,
  SchemaReference,
  SchemaRegistryClient,
} from './schema-registry-client.js';
import { LookupCache } from './lookup-cache.js';
import { UnreadableValueError } from './unreadable-value-error.js';

/**
 * Time after which the latest schema of a subject is requested again, because it may have changed.
 */
const LATEST_TTL_MS = 60_000;

export interface LatestSchema {
  readonly id: number;
  readonly type: AvroType;
  readonly askedAt: number;
}

export interface AvroSchemasParts {
  readonly avro: AvroPackage;
  readonly client: Pick<SchemaRegistryClient, 'schemaById' | 'schemaOf'>;
  readonly cacheSize: number;
  readonly runtime: Runtime;
}

/**
 * Finds the types for the schema ids in records. The schema of an id never changes, so it is
 * requested only once.
 */
export class AvroSchemas {
  readonly #byId: LookupCache<number, AvroType>;
  readonly #latest: LookupCache<string, LatestSchema>;

  constructor(private readonly parts: AvroSchemasParts) {
    this.#byId = new LookupCache(parts.cacheSize);
    this.#latest = new LookupCache(parts.cacheSize);
  }

  byId(id: number): AvroType | Promise<AvroType> {
    return this.#byId.get(id) ?? this.#byId.find(id, this.#findById);
  }

  latestOf(subject: string): LatestSchema | Promise<LatestSchema> {
    const known = this.#latest.get(subject);
    return known && this.parts.runtime.monotonic() - known.askedAt < LATEST_TTL_MS
      ? known
      : this.#latest.find(subject, this.#findLatest);
  }

  readonly #findById = async (id: number): Promise<AvroType> =>
    this.#typeOf(await this.parts.client.schemaById(id));

  readonly #findLatest = async (subject: string): Promise<LatestSchema> => {
    const found = await this.parts.client.schemaOf(subject, 'latest');
    if (found.id === undefined)
      throw ownError(new Error(`the schema registry gave no id for subject '${subject}'`));
    return {
      id: found.id,
      type: await this.#typeOf(found),
      askedAt: this.parts.runtime.monotonic(),
    };
  };

  async #typeOf({ type, schema, references }: RegisteredSchema): Promise<AvroType> {
    if (type !== 'AVRO') throw new UnreadableValueError(`its schema is ${type} and not Avro`);
    const parser = new AvroParser(this.parts.avro);
    await this.#parseReferences(references, parser, new Set());
    return parser.parse(schema);
  }

  /** Parses the referenced schemas first, each of them once. */
  async #parseReferences(
    references: readonly SchemaReference[],
    parser: AvroParser,
    seen: Set<string>,
  ): Promise<void> {
    for (const { subject, version } of references) {
      const name = `${version} ${subject}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const found = await this.parts.client.schemaOf(subject, version);
      await this.#parseReferences(found.references, parser, seen);
      parser.parse(found.schema);
    }
  }
}
