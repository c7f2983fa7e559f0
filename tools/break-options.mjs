// Proves that the registered test of each option fails without the option: npm run break-options [-- key ...].
// Each option is ignored once, in a temporary copy of the tree, and its test of the effect runs there.
// Options: --integration runs the tests that need a real Kafka, too.
import { join, normalize } from 'node:path';
import { createBrokenTree } from './break-options/broken-tree.mjs';
import { readRegisteredKeys } from './break-options/registered-keys.mjs';
import { failedTests } from './scratch-tree/run-spec.mjs';

/** @typedef {'fails' | 'GREEN' | 'skipped' | 'no result'} Verdict */
/** @typedef {{ key: string, spec: string, verdict: Verdict, evidence: string }} Row */

const root = join(import.meta.dirname, '..');
const words = process.argv.slice(2);
const withIntegration = words.includes('--integration');
const wanted = words.filter((word) => !word.startsWith('--'));

const keys = readRegisteredKeys(root).filter(
  ({ key }) =>
    wanted.length === 0 || wanted.some((word) => key === word || key.endsWith(`.*.${word}`)),
);
if (keys.length === 0) throw new Error(`No registered option is named ${wanted.join(' or ')}.`);

const tree = await createBrokenTree(root);
/** Tests that fail in the copy although no option is broken, by spec. @type {Map<string, Set<string>>} */
const failingAnyway = new Map();
/** @type {Row[]} */
const rows = [];
try {
  for (const entry of keys) {
    const row = await rowOf(entry);
    rows.push(row);
    console.log([row.verdict.padEnd(9), row.key, row.spec, row.evidence].join('  '));
  }
} finally {
  await tree.remove();
}
const unproven = rows.filter(({ verdict }) => verdict === 'GREEN' || verdict === 'no result');
const count = (/** @type {Verdict} */ verdict) =>
  rows.filter((row) => row.verdict === verdict).length;
console.log(
  `\n${rows.length} options: ${count('fails')} proven by a failing test, ${unproven.length} not proven, ${count('skipped')} skipped (need --integration).`,
);
for (const { key, spec, verdict } of unproven) console.log(`  ${verdict}: ${key}  ${spec}`);
if (unproven.length > 0) process.exitCode = 1;

/**
 * @param {import('./break-options/registered-keys.mjs').RegisteredKey} entry
 * @returns {Promise<Row>}
 */
async function rowOf({ key, effect }) {
  const spec = normalize(join('libs/core/src', effect));
  const row = { key, spec, evidence: '' };
  if (spec.startsWith('test/integration') && !withIntegration)
    return { ...row, verdict: 'skipped' };
  const before = failingAnyway.get(spec) ?? (await failedTests(tree.path, spec));
  if (!before) return { ...row, verdict: 'no result', evidence: 'the test does not run unbroken' };
  failingAnyway.set(spec, before);
  const failed = await failedTests(tree.path, spec, { environment: { BREAK_OPTION: key } });
  // A test that hangs without the option fails without it.
  if (!failed)
    return { ...row, verdict: 'fails', evidence: 'the test does not end or does not load' };
  const newlyFailed = [...failed].filter((name) => !before.has(name));
  if (newlyFailed.length === 0) return { ...row, verdict: 'GREEN' };
  return { ...row, verdict: 'fails', evidence: `${newlyFailed.length}: ${newlyFailed[0]}` };
}
