import type { RowColumn } from './sql-dialect.js';

export const valuesOfRows = (
  columns: readonly RowColumn[],
  count: number,
  parameter: (column: RowColumn, row: number) => string,
): string =>
  Array.from(
    { length: count },
    (_, row) => `(${columns.map((column) => parameter(column, row)).join(', ')})`,
  ).join(', ');

/** One SELECT per row; only the first one names the columns. */
export const selectsOfRows = (
  columns: readonly RowColumn[],
  count: number,
  cast: (column: RowColumn, parameter: string) => string = (_, parameter) => parameter,
): string =>
  Array.from({ length: count }, (_, row) => {
    const parameters = columns.map(
      (column) =>
        `${cast(column, `:${column.name}${row}`)}${row === 0 ? ` AS ${column.name}` : ''}`,
    );
    return `SELECT ${parameters.join(', ')}`;
  }).join(' UNION ALL ');
