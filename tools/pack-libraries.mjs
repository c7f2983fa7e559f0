import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run-command.mjs';

/**
 * @typedef {object} PackedLibrary
 * @property {string} name  folder of the library
 * @property {any} manifest  its package.json
 * @property {string} tarball
 * @property {readonly string[]} files  paths in the tarball
 */

/**
 * Packs every library into a folder. They must have been built.
 * @param {string} root
 * @param {string} folder
 * @returns {Promise<readonly PackedLibrary[]>}
 */
export async function packLibraries(root, folder) {
  /** @type {PackedLibrary[]} */
  const packed = [];
  for (const name of await readdir(join(root, 'libs'))) {
    const library = join(root, 'libs', name);
    const manifest = JSON.parse(await readFile(join(library, 'package.json'), 'utf8'));
    const args = ['pack', '--json', '--pack-destination', folder];
    /** @type {[{ filename: string, files: { path: string }[] }]} */
    const [{ filename, files }] = JSON.parse(await run('npm', args, { cwd: library }));
    const paths = files.map(({ path }) => path);
    packed.push({ name, manifest, tarball: join(folder, filename), files: paths });
  }
  return packed;
}
