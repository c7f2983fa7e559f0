import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';

/** @typedef {{ path: string, remove: () => Promise<void> }} ScratchTree */
/** @typedef {{ file: string, text: string, replacement: string }} SourceChange */

const COPIED = ['libs', 'test', 'tools', 'jest.config.mjs', 'package.json', 'tsconfig.base.json'];
const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage']);

/**
 * Copies what the tests need to a temporary folder, where a tool may break the sources.
 * @param {string} root
 * @returns {Promise<ScratchTree>}
 */
export async function createScratchTree(root) {
  const path = await mkdtemp(join(tmpdir(), 'nest-event-bus-scratch-'));
  for (const name of COPIED) {
    await cp(join(root, name), join(path, name), {
      recursive: true,
      filter: (source) => !LEFT_OUT.has(basename(relative(root, source))),
    });
  }
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'), 'dir');
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Replaces a text that occurs once in a file of the tree. Returns the function that undoes it.
 * @param {string} tree
 * @param {SourceChange} change its file is relative to the tree
 * @returns {Promise<() => Promise<void>>}
 */
export async function changeSource(tree, { file, text, replacement }) {
  const path = join(tree, file);
  const source = await readFile(path, 'utf8');
  if (source.split(text).length !== 2)
    throw new Error(`${file} must contain this text once; adapt the tool to it: ${text}`);
  await writeFile(
    path,
    source.replace(text, () => replacement),
  );
  return () => writeFile(path, source);
}
