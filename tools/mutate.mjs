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

/** @typedef {'killed' | 'survives' | 'not reached'} Verdict */
/** @typedef {Record<number, readonly import('./mutate/mutant-tree.mjs').TimedSpec[]>} Specs */
/** @typedef {{ specs?: Specs, verdicts: Record<number, Verdict> }} Results */

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
const left = rooms
  .flatMap(({ mutants }) => mutants)
  .filter(({ id }) => results.verdicts[id] === undefined);
if (left.length > 0) await testMutants();
for (const room of rooms) report(room);

async function testMutants() {
  const tree = await createMutantTree(
    root,
    rooms.flatMap(({ mutants }) => mutants),
  );
  try {
    results.specs ??= await tree.reachingSpecs();
    saveResults();
    for (const { id } of left) {
      if (Date.now() > endsAt) return;
      const specs = results.specs[id] ?? [];
      results.verdicts[id] = specs.length === 0 ? 'not reached' : await tree.verdictOf(id, specs);
      saveResults();
    }
  } finally {
    await tree.remove();
  }
}

/** @param {import('./mutate/choose-mutants.mjs').Room} room */
function report({ name, total, mutants }) {
  const tested = mutants.filter(({ id }) => results.verdicts[id] !== undefined);
  const survivors = tested.filter(({ id }) => results.verdicts[id] !== 'killed');
  const judged = survivors.filter((mutant) => judgementOf(mutant) !== undefined);
  const counted = tested.length - judged.length;
  const killed = tested.length - survivors.length;
  const score = counted === 0 ? 100 : Math.round((100 * killed) / counted);
  console.log(
    `${name}: ${score} %: ${killed} of ${counted} mutants killed, ${judged.length} more change no promise (${tested.length} of ${mutants.length} chosen ones tested, ${total} in the folder)`,
  );
  for (const mutant of survivors) {
    const { id, file, line, change } = mutant;
    console.log(`  ${results.verdicts[id]}: ${file}:${line}  ${change}`);
    const judgement = judgementOf(mutant);
    if (judgement !== undefined) console.log(`      ${judgement}`);
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
