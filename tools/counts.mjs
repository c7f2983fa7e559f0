// Counts for a sum over several commands. Each appends lines to the file named by COUNTS_FILE: two numbers
// for passed and failed tests, or a remark that begins with '#'.
import { appendFileSync } from 'node:fs';

/** @param {{ passed: number, failed: number }} counts */
export function recordCounts({ passed, failed }) {
  append(`${passed} ${failed}`);
}

/** @param {string} remark shown at the end of the sum */
export function recordRemark(remark) {
  append(`# ${remark.replaceAll(/\s+/g, ' ')}`);
}

/** @param {string} line */
function append(line) {
  const file = process.env['COUNTS_FILE'];
  if (file) appendFileSync(file, `${line}\n`);
}
