// Measures how many changes of a folder the tests notice: npm run mutate -- <room> ... [options].
// A room is a folder of libs/core/src: consuming, failures, containers, pipeline, assembly.
// Options:
//   --count 60      mutants per room, chosen at random
//   --seed 1        the same seed chooses the same mutants
//   --minutes 5     stops after this time; the next run goes on, if --results is the same
//   --results file  keeps the results of earlier runs
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseMutants } from './mutate/choose-mutants.mjs';
import { judgementOf } from './mutate/judged-mutants.mjs';
import { createMutantTree } from './mutate/mutant-tree.mjs';

/** A number says how many specs have passed so far. @typedef {'killed' | 'timed out' | number} Verdict */
/** @typedef {Record<number, readonly import('./mutate/mutant-tree.mjs').TimedSpec[]>} Specs */
/** @typedef {{ specs?: Specs, verdicts: Record<number, Verdict> }} Results */

/**
 * How many specs each mutant meets in a round. Most mutants die in the specs beside them, so those run
 * first for all mutants.
 */
const ROUNDS = [4, 16, Infinity];

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    results: { type: 'string' },
  },
});
if (positionals.length === 0)
  throw new Error('Name a folder of libs/core/src: npm run mutate -- consuming');
const endsAt = Date.now() + Number(values.minutes) * 60_000;

const sample = { count: Number(values.count), seed: Number(values.seed) };
const rooms = chooseMutants(root, positionals, sample);
const results = readResults();
/** In turns, so that a run that is stopped has tested some mutants of each room. */
const all = Array.from({ length: sample.count }, (_, index) =>
  rooms.flatMap(({ mutants }) => mutants[index] ?? []),
).flat();
if (!results.specs || all.some(({ id }) => isLeft(id, Infinity))) await testMutants();
for (const room of rooms) report(room);

async function testMutants() {
  const tree = await createMutantTree(root, all);
  try {
    results.specs ??= await tree.reachingSpecs();
    saveResults();
    for (const most of ROUNDS)
      for (const { id } of all) {
        if (!isLeft(id, most)) continue;
        if (Date.now() > endsAt) return;
        const passed = Number(results.verdicts[id] ?? 0);
        const specs = specsOf(id).slice(passed, most);
        const run = specs.length === 0 ? 'passed' : await tree.test(id, specs);
        if (run === 'passed') results.verdicts[id] = passed + specs.length;
        else results.verdicts[id] = run === 'failed' ? 'killed' : 'timed out';
        saveResults();
      }
  } finally {
    await tree.remove();
  }
}

/** @param {number} id */
function specsOf(id) {
  return results.specs?.[id] ?? [];
}

/**
 * Returns whether the mutant has not met so many of its specs yet.
 * @param {number} id
 * @param {number} most
 */
function isLeft(id, most) {
  const verdict = results.verdicts[id];
  if (verdict === undefined) return true;
  return typeof verdict === 'number' && verdict < Math.min(most, specsOf(id).length);
}

/** @param {import('./mutate/choose-mutants.mjs').Room} room */
function report({ name, total, mutants }) {
  const tested = mutants.filter(({ id }) => results.verdicts[id] !== undefined);
  const survivors = tested.filter(({ id }) => typeof results.verdicts[id] === 'number');
  const timedOut = tested.filter(({ id }) => results.verdicts[id] === 'timed out').length;
  const judged = survivors.filter((mutant) => judgementOf(mutant) !== undefined);
  const counted = tested.length - judged.length;
  const killed = tested.length - survivors.length;
  const score = counted === 0 ? 100 : Math.round((100 * killed) / counted);
  console.log(
    `${name}: ${score} %: ${killed} of ${counted} mutants killed, ${timedOut} of them by a timeout; ${judged.length} more change no promise (${tested.length} of ${mutants.length} chosen ones tested, ${total} in the folder)`,
  );
  for (const mutant of survivors) {
    const { id, file, line, change } = mutant;
    console.log(`  ${file}:${line}  ${change}`);
    const specs = `passes ${results.verdicts[id]} of ${specsOf(id).length} specs that reach it`;
    console.log(`      ${judgementOf(mutant) ?? specs}`);
  }
}

/** @returns {Results} */
function readResults() {
  if (!values.results || !existsSync(values.results)) return { verdicts: {} };
  return JSON.parse(readFileSync(values.results, 'utf8'));
}

function saveResults() {
  if (values.results) writeFileSync(values.results, JSON.stringify(results));
}
