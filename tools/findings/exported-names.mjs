import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const EXPORTED =
  /^export (?:default )?(?:abstract |async |declare )*(?:class|function\*?|const|let|enum) (\w+)/gm;

/**
 * Lists where the sources of a tree define the names that they export.
 * @param {string} tree
 * @returns {ReadonlyMap<string, readonly string[]>} files by name
 */
export function exportedNames(tree) {
  /** @type {Map<string, string[]>} */
  const files = new Map();
  for (const file of sourcesIn(tree))
    for (const [, name = ''] of readFileSync(join(tree, file), 'utf8').matchAll(EXPORTED))
      files.set(name, [...(files.get(name) ?? []), file]);
  return files;
}

/**
 * @param {string} tree
 * @returns {readonly string[]}
 */
function sourcesIn(tree) {
  return readdirSync(join(tree, 'libs'), { recursive: true, encoding: 'utf8' })
    .map((file) => join('libs', file))
    .filter((file) => /^libs\/[^/]+\/src\/.*\.ts$/.test(file) && !file.includes('.spec'));
}
