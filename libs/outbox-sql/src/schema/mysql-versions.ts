import type { PayloadColumn } from '../dialects/sql-dialect.js';
import { KEY_BUCKETS, lockTableOf } from './key-locks.js';

const text = (length: number): string =>
  `VARCHAR(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;

/** Also for MariaDB. Columns that are new in a version come in one ALTER, which is all or nothing. */
export function mysqlVersions(
  table: string,
  payload: PayloadColumn,
): readonly (readonly string[])[] {
  const buckets = Array.from({ length: KEY_BUCKETS }, (_, bucket) => `(${bucket})`).join(', ');
  return [
    [
      `CREATE TABLE IF NOT EXISTS ${table} (
  event_id ${text(36)} NOT NULL PRIMARY KEY,
  event_type ${text(128)} NOT NULL,
  aggregate_type ${text(64)},
  aggregate_id ${text(128)},
  tenant_id ${text(64)},
  payload ${payload === 'json' ? 'JSON' : 'LONGBLOB'} NOT NULL,
  headers JSON,
  status TINYINT NOT NULL,
  attempts INT NOT NULL DEFAULT 0,
  available_at DATETIME(6) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  done_at DATETIME(6),
  last_error TEXT CHARACTER SET utf8mb4,
  locked_by ${text(128)},
  locked_at DATETIME(6),
  INDEX idx_status_available (status, available_at, created_at)
) ENGINE = InnoDB`,
    ],
    [
      `ALTER TABLE ${table}
  ADD COLUMN sequence_no BIGINT NOT NULL AUTO_INCREMENT,
  ADD COLUMN key_hash BIGINT,
  ADD COLUMN payload_kind TINYINT NOT NULL DEFAULT 0,
  ADD COLUMN lease_until DATETIME(6),
  ADD COLUMN unfinished_attempts INT NOT NULL DEFAULT 0,
  ADD COLUMN blocks_key TINYINT NOT NULL DEFAULT 0,
  ADD COLUMN is_pending TINYINT AS (status % 2 = 0) VIRTUAL,
  ADD COLUMN finished_at DATETIME(6) AS (IF(status % 2 = 1, COALESCE(done_at, created_at), NULL)) VIRTUAL,
  ADD UNIQUE INDEX sequence_no (sequence_no),
  ADD INDEX pending (is_pending, sequence_no),
  ADD INDEX owned (locked_by),
  ADD INDEX blocking (blocks_key, key_hash),
  ADD INDEX finished (finished_at)`,
      `CREATE TABLE IF NOT EXISTS ${lockTableOf(table)} (bucket SMALLINT NOT NULL PRIMARY KEY) ENGINE = InnoDB`,
      `INSERT IGNORE INTO ${lockTableOf(table)} (bucket) VALUES ${buckets}`,
    ],
  ];
}
