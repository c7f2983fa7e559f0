import { dirname } from 'node:path/posix';
import { limits, LONG_SPEC } from './limits.mjs';

/**
 * @typedef {{ path: string, lines: number }} FileLength
 * @typedef {{ fullFolders: { folder: string, files: number }[], longestSource: FileLength | undefined, longSpecs: FileLength[] }} Shape
 */

/** @param {string} text */
export const countLines = (text) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/**
 * Finds folders with too many files side by side and files that are long; specs do not fill a folder.
 * @param {readonly import('./repository.mjs').Source[]} sources
 * @param {readonly import('./repository.mjs').Source[]} tests
 * @returns {Shape}
 */
export function measureShape(sources, tests) {
  return {
    fullFolders: fullFolders(sources),
    longestSource: byLength(sources)[0],
    longSpecs: byLength(tests.filter(({ path }) => path.endsWith('.spec.ts'))).filter(
      ({ lines }) => lines > LONG_SPEC,
    ),
  };
}

/** @param {readonly import('./repository.mjs').Source[]} sources */
function fullFolders(sources) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { path } of sources) {
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  }
  return [...counts]
    .map(([folder, files]) => ({ folder, files }))
    .filter(({ files }) => files > limits.filesPerFolder)
    .sort((left, right) => right.files - left.files);
}

/**
 * @param {readonly import('./repository.mjs').Source[]} files
 * @returns {FileLength[]}
 */
const byLength = (files) =>
  files
    .map(({ path, text }) => ({ path, lines: countLines(text) }))
    .sort((left, right) => right.lines - left.lines);
