// npm run bench -- log-context [--runs 5]: what the log context adds to the path of a record, in microseconds,
// for a handler that does nothing and logs nothing. Each run is a process of its own; the two take turns.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { median } from './support/compare.mjs';

const RUN = join(import.meta.dirname, 'support/log-context-process.mjs');
const MOST_MICROSECONDS = 0.3;
const at = process.argv.indexOf('--runs');
const runs = at === -1 ? 5 : Number(process.argv[at + 1]);

const cases = [
  { name: 'sync handler', isAsync: false, hasOther: false },
  { name: 'async handler', isAsync: true, hasOther: false },
  { name: 'async handler, another AsyncLocalStorage is in use', isAsync: true, hasOther: true },
];
console.log(`Node ${process.version}`);
for (const { name, ...handler } of cases) {
  const figures = { on: [], off: [] };
  for (let run = 0; run < runs; run++)
    for (const which of run % 2 === 0 ? ['on', 'off'] : ['off', 'on'])
      figures[which].push(await measured({ isOn: which === 'on', ...handler }));
  const [on, off] = [median(figures.on), median(figures.off)];
  const added = (on - off) / 1_000;
  console.log(
    `${name}: ${micro(off)} without, ${micro(on)} with the log context; it adds ${added.toFixed(2)} µs, goal <= ${MOST_MICROSECONDS}`,
  );
}

/** @param {{ isOn: boolean, isAsync: boolean, hasOther: boolean }} what @returns {Promise<number>} nanoseconds */
function measured(what) {
  return new Promise((resolve, reject) => {
    const child = fork(RUN, [JSON.stringify(what)]);
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code) => code === 0 || reject(new Error(`A run ended with code ${code}.`)));
  });
}

function micro(nanoseconds) {
  return `${(nanoseconds / 1_000).toFixed(2)} µs`;
}
