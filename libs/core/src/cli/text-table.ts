type Cell = string | number | null | undefined;

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

/** Text that cannot move the cursor or change the colours of a terminal. */
export function printable(value: Cell): string {
  return String(value ?? '').replaceAll(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Lines of a table whose columns are as wide as their longest cell. */
export function tableOf(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): readonly string[] {
  const texts = [columns, ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, index) =>
    Math.max(...texts.map((row) => row[index]?.length ?? 0)),
  );
  return texts.map((row) =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
