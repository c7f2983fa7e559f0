import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Collects the rows of a bench, prints each at once, and writes them as JSON. */
export class Table {
  #rows = [];

  constructor(bench) {
    this.bench = bench;
    console.log(`\n${bench}: ours against theirs, medians (least..most)\n`);
  }

  /** @param {string} what @param {{ours: any, theirs: any, ratio: number}} result @param {{ goal: string, unit: string }} about */
  add(what, { ours, theirs, ratio }, { goal, unit }) {
    this.#rows.push({ what, unit, goal, ratio, ours, theirs });
    const cell = ({ median, least, most }) => `${round(median)} (${round(least)}..${round(most)})`;
    console.log(
      `${what.padEnd(52)} ${cell(ours).padStart(32)} ${cell(theirs).padStart(32)} ${unit.padEnd(10)} ratio ${ratio.toFixed(2)}  goal ${goal}`,
    );
  }

  /** Adds a figure of our own with a goal of its own. */
  note(what, value, unit, goal) {
    this.#rows.push({ what, value, unit, goal });
    console.log(`${what.padEnd(52)} ${String(round(value)).padStart(32)} ${unit}  goal ${goal}`);
  }

  write(folder) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${this.bench}.json`);
    writeFileSync(
      file,
      `${JSON.stringify({ node: process.version, rows: this.#rows }, null, 2)}\n`,
    );
    console.log(`\nkept in ${file}`);
  }
}

const round = (value) =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : Number(value.toFixed(2));
