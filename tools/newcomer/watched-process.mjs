import { spawn } from 'node:child_process';
import { once } from 'node:events';

const CHECK_MS = 50;

/** A Node process whose output can be waited for. */
export class WatchedProcess {
  output = '';
  #child;

  /**
   * @param {readonly string[]} args
   * @param {string} cwd
   * @param {NodeJS.ProcessEnv} environment
   */
  constructor(args, cwd, environment) {
    const env = { ...process.env, NO_COLOR: '1', ...environment };
    this.#child = spawn(process.execPath, args, { cwd, env });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
  }

  /**
   * Waits for a line of the output.
   * @param {RegExp} expected
   * @param {number} longestMs
   * @returns {Promise<string>}
   */
  async line(expected, longestMs) {
    const endsAt = performance.now() + longestMs;
    while (performance.now() < endsAt && this.#child.exitCode === null) {
      const found = this.output.split('\n').find((line) => expected.test(line));
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    }
    throw new Error(`No line of the output matches ${String(expected)}.`);
  }

  /** Ends the process as a deployment would. */
  async stop() {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'close');
  }
}
