import type { RegisteredReference } from './registry-api.js';

/** A schema registry that runs. */
export interface StartedSchemaRegistry extends AsyncDisposable {
  readonly source: 'external' | 'local';
  /** For `schemaRegistry.url`: with its path. */
  readonly url: string;
  /** Registers an Avro schema as the next version of the subject, and gives its id. */
  register(
    subject: string,
    schema: unknown,
    references?: readonly RegisteredReference[],
  ): Promise<number>;
  /** SIGKILL; its schemas stay. Only of a registry that we run ourselves. */
  kill(): Promise<void>;
  /** On its old data and port. */
  restart(): Promise<void>;
  /** Ends everything and removes the data. May be called twice. */
  stop(): Promise<void>;
}
