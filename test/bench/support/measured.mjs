import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program that is measured in a process of its own. It answers in lines of JSON. */
export class Measured {
  #child;
  #lines;

  /** @param {string} program @param {object} order its argument, as JSON */
  constructor(program, order) {
    this.#child = spawn(process.execPath, ['--expose-gc', program, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async next() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('The measured program ended without an answer.');
    return JSON.parse(value);
  }

  /** @param {string} question one line */
  ask(question) {
    this.#child.stdin.write(`${question}\n`);
    return this.next();
  }

  async ended() {
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    if (this.#child.exitCode !== 0)
      throw new Error(`The measured program ended with ${this.#child.exitCode}.`);
  }
}

/** Heap and external memory, which contains array buffers. The second collection frees what the first one finds. */
export function inUse() {
  const { gc } = globalThis;
  if (!gc) throw new Error('Run this with --expose-gc.');
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** @param {object} answered */
export function answer(answered) {
  process.stdout.write(`${JSON.stringify(answered)}\n`);
}
