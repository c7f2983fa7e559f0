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
  /** Sends SIGKILL; the stored schemas are kept. Requires a registry in a local JVM. */
  kill(): Promise<void>;
  /** Restarts the registry with its previous data and port. */
  restart(): Promise<void>;
  /** Stops the registry and removes its data. A second call does nothing. */
  stop(): Promise<void>;
}
