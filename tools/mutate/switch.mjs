// Runs in each test file before its imports: enables the mutant that MUTANT names, and notes which mutants
// the file reaches.
import { appendFileSync } from 'node:fs';

const enabled = Number(process.env['MUTANT'] ?? 0);
/** @type {Set<number>} */
const reached = new Set();

Object.assign(globalThis, {
  isMutant(/** @type {number} */ id) {
    if (enabled !== 0) return id === enabled;
    reached.add(id);
    return false;
  },
  writeReachedMutants(/** @type {string | undefined} */ spec) {
    const file = process.env['REACHED_MUTANTS'];
    if (file) appendFileSync(file, `${JSON.stringify({ spec, reached: [...reached] })}\n`);
  },
});
