import type { SqlDialectName } from '../connections/sql-session.js';

/** A statement with the placeholders of a dialect. */
export interface CompiledSql {
  readonly text: string;
  /** The name of the parameter of each placeholder. */
  readonly parameters: readonly string[];
}

/** Replaces `:name` by the placeholders of the dialect. */
export function compile(sql: string, dialect: SqlDialectName): CompiledSql {
  const parameters: string[] = [];
  const text = sql.replaceAll(/:([a-z]\w*)/gi, (_, name: string) => {
    if (dialect !== 'postgres') return (parameters.push(name), '?');
    const known = parameters.indexOf(name);
    return `$${known >= 0 ? known + 1 : parameters.push(name)}`;
  });
  return { text, parameters };
}
