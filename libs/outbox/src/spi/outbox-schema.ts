import type { SqlConnection } from './sql-connection.js';

export interface SchemaStatus {
  /** 0 if the table does not exist. */
  readonly currentVersion: number;
  readonly latestVersion: number;
}

/** The versioned schema of a store. */
export interface OutboxSchema {
  status(connection: SqlConnection): Promise<SchemaStatus>;
  /** The statements from the version (default 0) to the latest, for a migration tool of your own. */
  sql(fromVersion?: number): readonly string[];
  /** Brings the schema to the latest version. Several processes may call it at the same time. */
  migrate(connection: SqlConnection): Promise<SchemaStatus>;
}
