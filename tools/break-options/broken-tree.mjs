import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { SOURCE_CHANGES } from './source-changes.mjs';

const HOOK = join(import.meta.dirname, 'break-option.mjs');
const SOURCES = 'libs/core/src';
const RESOLVING = 'config/resolving';
const COPIED = ['libs', 'test', 'tools', 'jest.config.mjs', 'package.json', 'tsconfig.base.json'];
const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage']);

/**
 * Copies the tree to a temporary folder and adds the hook that breaks an option.
 * @param {string} root
 * @returns {Promise<{ path: string, remove: () => Promise<void> }>}
 */
export async function createBrokenTree(root) {
  const path = await mkdtemp(join(tmpdir(), 'nest-event-bus-break-'));
  for (const name of COPIED) {
    await cp(join(root, name), join(path, name), {
      recursive: true,
      filter: (source) => !LEFT_OUT.has(basename(relative(root, source))),
    });
  }
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'), 'dir');
  await cp(HOOK, join(path, SOURCES, RESOLVING, 'break-option.ts'));
  for (const change of SOURCE_CHANGES) await applyChange(path, change);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * @param {string} tree
 * @param {(typeof SOURCE_CHANGES)[number]} change
 */
async function applyChange(tree, { file, text, replacement }) {
  const path = join(tree, SOURCES, file);
  const source = await readFile(path, 'utf8');
  if (source.split(text).length !== 2)
    throw new Error(`${file} must contain '${text}' once: adapt tools/break-options to it.`);
  await writeFile(
    path,
    source.replace(text, () => replacement),
  );
}
