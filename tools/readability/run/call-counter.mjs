import { Session } from 'node:inspector/promises';

/**
 * @typedef {{ owner: string, file: string, name: string, calls: number }} CountedFunction
 * @typedef {ReadonlyMap<string, CountedFunction>} Calls  By the place of the function in its file.
 */

/**
 * Matches a file that tools/build.mjs has written. Its source has the same path below another
 * folder.
 */
const builtFile = /\/libs\/([^/]+)\/dist\/esm\/(.+)\.js$/;

/** Counts the calls of every function of this repository, by the precise coverage of V8. */
export class CallCounter {
  #session = new Session();

  /** Starts counting. Functions of packages that are loaded earlier may be missed. */
  async start() {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /**
   * Returns the functions that were called since the previous call of `take`.
   * @returns {Promise<Calls>}
   */
  async take() {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    /** @type {Map<string, CountedFunction>} */
    const calls = new Map();
    for (const { url, functions } of result) {
      const [, owner = '', path = ''] = builtFile.exec(url) ?? [];
      if (owner === '') continue;
      const file = `libs/${owner}/src/${path}.ts`;
      for (const { functionName, ranges } of functions) {
        const { startOffset = 0, count = 0 } = ranges[0] ?? {};
        if (count === 0) continue;
        calls.set(`${file}:${startOffset}`, { owner, file, name: functionName, calls: count });
      }
    }
    return calls;
  }

  stop() {
    this.#session.disconnect();
  }
}
