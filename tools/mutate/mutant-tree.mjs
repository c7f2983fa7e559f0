import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createScratchTree } from '../scratch-tree/scratch-tree.mjs';
import { switchedSource } from './switched-source.mjs';

/** @typedef {import('./choose-mutants.mjs').PlacedMutant} PlacedMutant */
/** @typedef {{ spec: string, tookMs: number }} TimedSpec */
/** @typedef {'passed' | 'failed' | 'timed out'} TestRun */

/** A mutant may loop for ever. A run that takes so many times as long as without a mutant is ended. */
const PATIENCE = 10;
const START_MS = 60_000;

/**
 * Copies the tree, with all mutants in its sources.
 * @param {string} root
 * @param {readonly PlacedMutant[]} mutants
 */
export async function createMutantTree(root, mutants) {
  const { path, remove } = await createScratchTree(root);
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const inFile = mutants.filter((mutant) => mutant.file === file);
    const text = await readFile(join(path, file), 'utf8');
    await writeFile(join(path, file), switchedSource(text, inFile));
  }
  return {
    remove,
    reachingSpecs: () => reachingSpecs(path, mutants),
    /**
     * Runs specs with the mutant.
     * @param {number} id
     * @param {readonly TimedSpec[]} specs
     */
    test(id, specs) {
      const usualMs = specs.reduce((sum, { tookMs }) => sum + tookMs, 0);
      const files = specs.map(({ spec }) => spec);
      return runJest(path, [...files, '--runInBand', '--bail'], {
        environment: { MUTANT: String(id) },
        longestMs: START_MS + PATIENCE * usualMs,
      });
    },
  };
}

/**
 * Runs all specs without a mutant. Returns which specs reach each mutant: those beside it first, then the
 * quick ones.
 * @param {string} tree
 * @param {readonly PlacedMutant[]} mutants
 * @returns {Promise<Record<number, readonly TimedSpec[]>>}
 */
async function reachingSpecs(tree, mutants) {
  const reachedFile = join(tree, 'reached.jsonl');
  const report = join(tree, 'jest-report.json');
  const result = await runJest(tree, ['--maxWorkers=1', '--json', `--outputFile=${report}`], {
    environment: { REACHED_MUTANTS: reachedFile },
    longestMs: 1_800_000,
  });
  if (result !== 'passed') throw new Error('The specs fail without a mutant. Run them first.');
  const tookMs = durations(report);
  const runs = readFileSync(reachedFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ spec: path, reached }) => {
      const spec = relative(tree, path);
      return { spec, tookMs: tookMs.get(spec) ?? 0, reached: new Set(reached) };
    });
  return Object.fromEntries(
    mutants.map(({ id, file }) => {
      const rank = (/** @type {TimedSpec} */ { spec, tookMs: ms }) =>
        (dirname(spec) === dirname(file) ? 0 : 1e6) + ms;
      const specs = runs
        .filter(({ reached }) => reached.has(id))
        .map(({ spec, tookMs: ms }) => ({ spec, tookMs: ms }))
        .toSorted((a, b) => rank(a) - rank(b));
      return [id, specs];
    }),
  );
}

/**
 * @param {string} report
 * @returns {ReadonlyMap<string, number>}
 */
function durations(report) {
  /** @type {{ testResults: readonly { name: string, startTime: number, endTime: number }[] }} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const tree = dirname(report);
  return new Map(
    testResults.map(({ name, startTime, endTime }) => [relative(tree, name), endTime - startTime]),
  );
}

/**
 * Runs specs.
 * @param {string} cwd
 * @param {readonly string[]} flags
 * @param {{ environment: NodeJS.ProcessEnv, longestMs: number }} options
 * @returns {Promise<TestRun>}
 */
function runJest(cwd, flags, { environment, longestMs }) {
  const jest = join(cwd, 'node_modules/jest/bin/jest.js');
  const config = join(cwd, 'tools/mutate/jest.config.mjs');
  const args = [jest, '--config', config, '--silent', '--forceExit', ...flags];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      stdio: 'ignore',
      timeout: longestMs,
      killSignal: 'SIGKILL',
      env: { ...process.env, ...environment },
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(resultOf(code)));
  });
}

/**
 * @param {number | null} exitCode  null if the process was ended
 * @returns {TestRun}
 */
function resultOf(exitCode) {
  if (exitCode === null) return 'timed out';
  return exitCode === 0 ? 'passed' : 'failed';
}
