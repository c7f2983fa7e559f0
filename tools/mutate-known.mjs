// Proves that tests hold the wiring of the bus: npm run mutate:known [-- name ...].
// Each known mutant is put once into a temporary copy of the tree, and its spec must fail there.
// Options: --integration runs the specs that need a real Kafka, too.
import { join } from 'node:path';
import { KNOWN_MUTANTS } from './mutate/known-mutants.mjs';
import { failedTests } from './scratch-tree/run-spec.mjs';
import { changeSource, createScratchTree } from './scratch-tree/scratch-tree.mjs';

const root = join(import.meta.dirname, '..');
const words = process.argv.slice(2);
const withIntegration = words.includes('--integration');
const wanted = words.filter((word) => !word.startsWith('--'));

const chosen = KNOWN_MUTANTS.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
);
if (chosen.length === 0) throw new Error(`No known mutant is named ${wanted.join(' or ')}.`);

const tree = await createScratchTree(root);
/** Tests that fail in the copy although nothing is broken, by spec. @type {Map<string, Set<string>>} */
const failingAnyway = new Map();
const counts = { killed: 0, skipped: 0 };
/** @type {string[]} */
const survivors = [];
try {
  for (const mutant of chosen) {
    const verdict = await verdictOf(mutant);
    if (verdict.startsWith('SURVIVES')) survivors.push(mutant.name);
    else counts[verdict === 'skipped' ? 'skipped' : 'killed'] += 1;
    console.log(`${mutant.name}\n    ${mutant.spec}\n    ${verdict}`);
  }
} finally {
  await tree.remove();
}
console.log(
  `\n${chosen.length} known mutants: ${counts.killed} killed, ${survivors.length} survive, ${counts.skipped} skipped (need --integration).`,
);
for (const name of survivors) console.log(`  SURVIVES: ${name}`);
if (survivors.length > 0) process.exitCode = 1;

/**
 * @param {import('./mutate/known-mutants.mjs').KnownMutant} mutant
 * @returns {Promise<string>}
 */
async function verdictOf({ spec, ...change }) {
  if (spec.startsWith('test/integration') && !withIntegration) return 'skipped';
  const before = failingAnyway.get(spec) ?? (await failedTests(tree.path, spec));
  if (!before) return 'SURVIVES: the spec does not run without the mutant';
  failingAnyway.set(spec, before);
  const restore = await changeSource(tree.path, change);
  const failed = await failedTests(tree.path, spec);
  await restore();
  // A spec that hangs with the mutant fails with it.
  if (!failed) return 'killed: the spec does not end or does not load';
  const [first, ...others] = [...failed].filter((name) => !before.has(name));
  if (first === undefined) return 'SURVIVES';
  return `killed by ${others.length + 1} test(s): ${first}`;
}
