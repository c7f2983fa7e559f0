// Proves that the registered test of each option fails without the option: npm run break-options [-- key ...].
// Each option is ignored once, in a temporary copy of the tree, and its test of the effect runs there.
// Options: --integration runs the tests that need a real Kafka, too.
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { spawn } from 'node:child_process';
import { createBrokenTree } from './break-options/broken-tree.mjs';
import { readRegisteredKeys } from './break-options/registered-keys.mjs';

/** @typedef {'fails' | 'GREEN' | 'pending' | 'skipped' | 'no result'} Verdict */
/** @typedef {{ key: string, spec: string, verdict: Verdict, evidence: string }} Row */

const LONGEST_MS = 300_000;
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
  `\n${rows.length} options: ${count('fails')} proven by a failing test, ${unproven.length} not proven, ${count('pending')} pending, ${count('skipped')} skipped (need --integration).`,
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
  if (effect === 'pending') return { ...row, spec: '', verdict: 'pending' };
  if (spec.startsWith('test/integration') && !withIntegration)
    return { ...row, verdict: 'skipped' };
  const before = failingAnyway.get(spec) ?? (await failedTests(spec, ''));
  if (!before) return { ...row, verdict: 'no result', evidence: 'the test does not run unbroken' };
  failingAnyway.set(spec, before);
  const failed = await failedTests(spec, key);
  // A test that hangs without the option fails without it.
  if (!failed)
    return { ...row, verdict: 'fails', evidence: 'the test does not end or does not load' };
  const newlyFailed = [...failed].filter((name) => !before.has(name));
  if (newlyFailed.length === 0) return { ...row, verdict: 'GREEN' };
  return { ...row, verdict: 'fails', evidence: `${newlyFailed.length}: ${newlyFailed[0]}` };
}

/**
 * Returns the names of the tests that fail; undefined if the spec does not load or does not end.
 * @param {string} spec
 * @param {string} key
 * @returns {Promise<Set<string> | undefined>}
 */
async function failedTests(spec, key) {
  const report = join(tree.path, 'break-options.json');
  const project = spec.startsWith('test/integration') ? 'integration' : 'unit';
  const flags = ['--selectProjects', project, '--silent', '--forceExit', '--json'];
  await rm(report, { force: true });
  const code = await runJest([spec, ...flags, `--outputFile=${report}`], key);
  if (code === undefined || !existsSync(report)) return undefined;
  const { testResults } = JSON.parse(await readFile(report, 'utf8'));
  /** @type {readonly { fullName: string, status: string }[]} */
  const tests = testResults.flatMap((/** @type {any} */ suite) => suite.assertionResults);
  if (tests.length === 0) return undefined;
  return new Set(tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName));
}

/**
 * @param {readonly string[]} flags
 * @param {string} key
 * @returns {Promise<number | undefined>} undefined if jest was ended because it took too long
 */
function runJest(flags, key) {
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [jest, ...flags], {
      cwd: tree.path,
      stdio: 'ignore',
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
      env: { ...process.env, BREAK_OPTION: key },
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? undefined));
  });
}
