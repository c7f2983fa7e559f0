import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const LONGEST_MS = 300_000;

/**
 * @typedef {object} SpecRun
 * @property {NodeJS.ProcessEnv} [environment]
 * @property {number} [longestMs] a run that takes longer is ended
 *
 * @typedef {object} TestResult
 * @property {string} fullName
 * @property {string} status
 * @property {readonly string[]} failureMessages
 *
 * @typedef {object} SpecResult
 * @property {readonly TestResult[]} tests
 * @property {string} problem why the spec has no tests; empty if it has
 */

/**
 * Runs a spec in a scratch tree.
 * @param {string} tree
 * @param {string} spec
 * @param {SpecRun} [options]
 * @returns {Promise<SpecResult>}
 */
export async function runSpec(tree, spec, { environment = {}, longestMs = LONGEST_MS } = {}) {
  const report = join(tree, 'jest-report.json');
  const project = spec.startsWith('test/integration') ? 'integration' : 'unit';
  const flags = ['--selectProjects', project, '--silent', '--forceExit', '--runInBand', '--json'];
  await rm(report, { force: true });
  const args = [spec, ...flags, `--outputFile=${report}`];
  const hasEnded = await runJest(tree, args, { environment, longestMs });
  if (!hasEnded || !existsSync(report)) return { tests: [], problem: 'it does not end' };
  const { testResults } = JSON.parse(await readFile(report, 'utf8'));
  /** @type {readonly TestResult[]} */
  const tests = testResults.flatMap((/** @type {any} */ suite) => suite.assertionResults);
  const problem = tests.length > 0 ? '' : String(testResults[0]?.message ?? 'it is not found');
  return { tests, problem };
}

/**
 * Returns the names of the tests that fail; undefined if the spec does not load or does not end.
 * @param {string} tree
 * @param {string} spec
 * @param {SpecRun} [options]
 * @returns {Promise<Set<string> | undefined>}
 */
export async function failedTests(tree, spec, options) {
  const { tests } = await runSpec(tree, spec, options);
  if (tests.length === 0) return undefined;
  return new Set(tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName));
}

/**
 * @param {string} cwd
 * @param {readonly string[]} flags
 * @param {Required<SpecRun>} options
 * @returns {Promise<boolean>} false if jest was ended because it took too long
 */
function runJest(cwd, flags, { environment, longestMs }) {
  const jest = join(cwd, 'node_modules/jest/bin/jest.js');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [jest, ...flags], {
      cwd,
      stdio: 'ignore',
      timeout: longestMs,
      killSignal: 'SIGKILL',
      env: { ...process.env, ...environment },
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(code !== null));
  });
}
