/**
 * Aligns rows in columns: the first to the left, the others to the right.
 * @param {readonly string[]} head
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function textTable(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) => row.map((cell, column) => pad(cell, column, widths)).join('  '));
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '));
  return lines.map((line) => `  ${line.trimEnd()}`).join('\n');
}

/**
 * @param {string} cell
 * @param {number} column
 * @param {readonly number[]} widths
 */
const pad = (cell, column, widths) =>
  column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
