// Shows which tests of docs/findings.md fail without the changes: npm run findings [-- word ...].
// Runs them on commit b8b1dc6, on which the findings were made. A word chooses points, sections or specs.
// Options: --integration runs the specs that need a real Kafka, too.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEarlierTree } from './findings/earlier-tree.mjs';
import { readFindings } from './findings/read-findings.mjs';
import { KNOWN_MUTANTS } from './mutate/known-mutants.mjs';
import { runSpec } from './scratch-tree/run-spec.mjs';

/** @typedef {'fails' | 'does not load' | 'PASSES' | 'MISSING' | 'mutant' | 'skipped'} Verdict */
/** @typedef {{ verdict: Verdict, evidence: string }} Judgement */

const COMMIT = 'b8b1dc6';
const EXPLANATIONS = {
  fails: 'the test runs there, and fails',
  'does not load': 'the test needs a file or name that is not there',
  mutant: 'the behaviour was right; the test fails with a mutant (npm run mutate:known)',
  skipped: 'needs --integration',
  PASSES: 'the test passes there',
  MISSING: 'the spec has no such test today',
};

/** The contract of drivers is a folder of cases, which this spec runs. */
const CONTRACT = 'libs/broker/src/contract/';
const SPEC_OF_CONTRACT = 'libs/broker/src/memory/memory-driver.spec.ts';

const root = join(import.meta.dirname, '..');
const words = process.argv.slice(2);
const withIntegration = words.includes('--integration');
const wanted = words.filter((word) => !word.startsWith('--'));
const findings = readFindings(await readFile(join(root, 'docs/findings.md'), 'utf8')).filter(
  ({ section, point, spec }) =>
    wanted.length === 0 || wanted.some((word) => `${section} ${point} ${spec}`.includes(word)),
);
if (findings.length === 0) throw new Error(`No finding is about ${wanted.join(' or ')}.`);

const tree = await createEarlierTree(root, COMMIT);
/** @type {Map<string, Promise<import('./scratch-tree/run-spec.mjs').SpecResult>>} */
const runs = new Map();
/** @type {Map<Verdict, number>} */
const counts = new Map();
try {
  let section = '';
  for (const finding of findings) {
    if (finding.section !== section) console.log(`\n${(section = finding.section)}`);
    const { verdict, evidence } = await judge(finding);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    console.log(`  ${verdict.padEnd(13)}  ${finding.point}: ${finding.test}`);
    if (evidence) console.log(`${' '.repeat(17)}${evidence}`);
  }
} finally {
  await tree.remove();
}
console.log(`\n${findings.length} rows on ${COMMIT}:`);
for (const [verdict, explanation] of Object.entries(EXPLANATIONS))
  console.log(`  ${counts.get(/** @type {Verdict} */ (verdict)) ?? 0} ${verdict}: ${explanation}`);
if (counts.has('PASSES') || counts.has('MISSING')) process.exitCode = 1;

/**
 * @param {import('./findings/read-findings.mjs').Finding} finding
 * @returns {Promise<Judgement>}
 */
async function judge({ section, spec, test }) {
  if (!existsSync(join(root, spec))) return { verdict: 'MISSING', evidence: spec };
  if (section.startsWith('Wiring')) return judgeWiring(spec);
  if (spec.startsWith('test/integration') && !withIntegration)
    return { verdict: 'skipped', evidence: '' };
  const { tests, problem } = await resultOf(spec.startsWith(CONTRACT) ? SPEC_OF_CONTRACT : spec);
  if (problem) return { verdict: 'does not load', evidence: reasonIn(problem) };
  const named = tests.filter(({ fullName }) => fullName.endsWith(test));
  const concerned = named.length > 0 ? named : tests;
  const failed = concerned.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return { verdict: 'PASSES', evidence: spec };
  const reason = reasonIn(failed[0]?.failureMessages[0] ?? '');
  return { verdict: 'fails', evidence: `${failed.length} of ${concerned.length}: ${reason}` };
}

/** @param {string} spec */
function resultOf(spec) {
  const run = runs.get(spec) ?? runSpec(tree.path, spec);
  runs.set(spec, run);
  return run;
}

/**
 * @param {string} spec
 * @returns {Judgement}
 */
function judgeWiring(spec) {
  const names = KNOWN_MUTANTS.filter((each) => each.spec === spec).map(({ name }) => name);
  return names.length > 0
    ? { verdict: 'mutant', evidence: names.join('; ') }
    : { verdict: 'MISSING', evidence: `no known mutant names ${spec}` };
}

/**
 * Returns the line that says most.
 * @param {string} message
 */
function reasonIn(message) {
  // oxlint-disable-next-line no-control-regex
  const lines = message.replaceAll(/\u001B\[\d+m/g, '').split('\n');
  const telling = [/Cannot find module|Could not locate module/, /^\s*Expected/, /Error/];
  const line = telling.map((each) => lines.find((one) => each.test(one))).find(Boolean);
  return (line ?? lines[0] ?? '').trim().replaceAll(`${tree.path}/`, '').slice(0, 160);
}
