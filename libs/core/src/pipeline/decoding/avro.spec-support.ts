import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { loadAvro } from './avro-package.js';
import { AvroSchemas } from './avro-schemas.js';
import type { RegisteredSchema, SchemaReference } from './schema-registry-client.js';
import { UnreadableValueError } from './unreadable-value-error.js';

interface Registered {
  readonly subject: string;
  readonly schema: unknown;
  readonly type?: string;
  readonly references?: readonly SchemaReference[];
}

/** A registry in memory. Schema ids, and the versions of a subject, count from 1. */
export class RegistryInMemory {
  readonly asked: string[] = [];
  readonly #schemas: Registered[] = [];
  /** The error with which requests fail. */
  trouble: Error | undefined;

  register(registered: Registered): number {
    return this.#schemas.push(registered);
  }

  async schemaById(id: number): Promise<RegisteredSchema> {
    await this.#answer(`${id}`);
    return this.#found(this.#schemas[id - 1], undefined);
  }

  async schemaOf(subject: string, version: number | 'latest'): Promise<RegisteredSchema> {
    await this.#answer(`${subject}/${version}`);
    const versions = this.#schemas.filter((each) => each.subject === subject);
    const found = version === 'latest' ? versions.at(-1) : versions[version - 1];
    return this.#found(found, found && this.#schemas.indexOf(found) + 1);
  }

  async #answer(question: string): Promise<void> {
    this.asked.push(question);
    await Promise.resolve();
    if (this.trouble) throw this.trouble;
  }

  #found(found: Registered | undefined, id: number | undefined): RegisteredSchema {
    if (!found) throw new UnreadableValueError('the schema registry knows no such schema');
    const { schema, type = 'AVRO', references = [] } = found;
    return { id, type, schema: JSON.stringify(schema), references };
  }
}

export async function avroUnderTest(cacheSize = 10) {
  const client = new RegistryInMemory();
  const runtime = new VirtualRuntime();
  const schemas = new AvroSchemas({ avro: await loadAvro(), client, cacheSize, runtime });
  return { client, runtime, schemas };
}

/** Returns a record schema with fields of the form `name: type`. */
export const recordOf = (name: string, fields: Readonly<Record<string, unknown>>) => ({
  type: 'record',
  name,
  namespace: 'com.shop',
  fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
});
