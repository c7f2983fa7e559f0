import type { PayloadColumn } from '../dialects/sql-dialect.js';

/** Times are whole milliseconds since 1970. */
export function sqliteVersions(
  table: string,
  payload: PayloadColumn,
): readonly (readonly string[])[] {
  return [
    [
      `CREATE TABLE IF NOT EXISTS ${table} (
  event_id TEXT NOT NULL PRIMARY KEY,
  event_type TEXT NOT NULL,
  aggregate_type TEXT,
  aggregate_id TEXT,
  tenant_id TEXT,
  payload ${payload === 'json' ? 'TEXT' : 'BLOB'} NOT NULL,
  headers TEXT,
  status INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  available_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  last_error TEXT,
  locked_by TEXT,
  locked_at INTEGER
)`,
      `CREATE INDEX IF NOT EXISTS ${table}_idx_status_available ON ${table} (status, available_at, created_at)`,
    ],
    [
      ...[
        'sequence_no INTEGER',
        'key_hash INTEGER',
        'payload_kind INTEGER NOT NULL DEFAULT 0',
        'lease_until INTEGER',
        'unfinished_attempts INTEGER NOT NULL DEFAULT 0',
        'blocks_key INTEGER NOT NULL DEFAULT 0',
      ].map((column) => `ALTER TABLE ${table} ADD COLUMN ${column}`),
      `UPDATE ${table} SET sequence_no = rowid`,
      `CREATE UNIQUE INDEX IF NOT EXISTS ${table}_sequence ON ${table} (sequence_no)`,
      `CREATE INDEX IF NOT EXISTS ${table}_pending ON ${table} (sequence_no) WHERE status % 2 = 0`,
      `CREATE INDEX IF NOT EXISTS ${table}_owned ON ${table} (locked_by) WHERE locked_by IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS ${table}_blocking ON ${table} (key_hash) WHERE blocks_key = 1`,
      `CREATE INDEX IF NOT EXISTS ${table}_finished ON ${table} (COALESCE(done_at, created_at)) WHERE status % 2 = 1`,
    ],
  ];
}
