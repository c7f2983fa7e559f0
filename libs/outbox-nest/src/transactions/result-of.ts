import type { SqlResult, SqlRow } from '@nest-event-bus/outbox-sql';

/** Reads the result of a driver, which ORMs return unchanged for plain statements. */
export function resultOf(result: unknown): SqlResult {
  // mysql2 returns the rows, or a header, with the fields.
  if (Array.isArray(result) && result.length === 2 && !isRow(result[0])) {
    const [first] = result as readonly unknown[];
    return Array.isArray(first) ? rowsOf(first) : changedOf(first);
  }
  if (Array.isArray(result)) return rowsOf(result);
  const { rows } = (result ?? {}) as { readonly rows?: readonly unknown[] };
  return { ...rowsOf(rows ?? []), ...changedOf(result) };
}

function rowsOf(rows: readonly unknown[]): SqlResult {
  return { rows: rows as readonly SqlRow[], changed: rows.length };
}

function changedOf(result: unknown): SqlResult {
  const { rows, rowCount, affectedRows, changes } = (result ?? {}) as {
    readonly rows?: readonly SqlRow[];
    readonly rowCount?: number | bigint | null;
    readonly affectedRows?: number;
    readonly changes?: number;
  };
  return { rows: rows ?? [], changed: Number(rowCount ?? affectedRows ?? changes ?? 0) };
}

/** The header of mysql2 has a count, and its rows are in an array. */
const isRow = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !('affectedRows' in value);
