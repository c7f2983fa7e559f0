import type { RegisteredReference } from './registry-api.js';

/** A running schema registry. */
export interface StartedSchemaRegistry extends AsyncDisposable {
  readonly source: 'external' | 'local';
  /** The value for `schemaRegistry.url`, with its path. */
  readonly url: string;
  /** Registers an Avro schema as the next version of the subject, and returns its id. */
  register(
    subject: string,
    schema: unknown,
    references?: readonly RegisteredReference[],
  ): Promise<number>;
  /** Sends SIGKILL; the schemas stay. Requires a registry in local Java. */
  kill(): Promise<void>;
  /** Restarts the registry on its old data and port. */
  restart(): Promise<void>;
  /** Stops everything and removes the data. May be called twice. */
  stop(): Promise<void>;
}
