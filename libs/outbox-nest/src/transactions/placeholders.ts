import type { SqlValue } from '@nest-event-bus/outbox-sql';

/** Turns PostgreSQL's `$1` into the `?` that Knex replaces. Repeats values that are used twice. */
export function withQuestionMarks(
  sql: string,
  values: readonly SqlValue[],
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  if (!/\$\d/.test(sql)) return { sql, values };
  const ordered: SqlValue[] = [];
  const text = sql.replaceAll('?', '\\?').replaceAll(/\$(\d+)/g, (_, index: string) => {
    ordered.push(values[Number(index) - 1] ?? null);
    return '?';
  });
  return { sql: text, values: ordered };
}
