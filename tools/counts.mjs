// What ran, for a sum over several commands: each appends a line to the file named by COUNTS_FILE.
import { appendFileSync } from 'node:fs';

/** @param {{ passed: number, failed: number }} counts */
export function recordCounts({ passed, failed }) {
  const file = process.env['COUNTS_FILE'];
  if (file) appendFileSync(file, `${passed} ${failed}\n`);
}
