import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { changeSource, createScratchTree } from '../scratch-tree/scratch-tree.mjs';
import { SOURCE_CHANGES } from './source-changes.mjs';

const HOOK = join(import.meta.dirname, 'break-option.mjs');
const SOURCES = 'libs/core/src';
const RESOLVING = 'config/resolving';

/**
 * Copies the tree to a temporary folder and adds the hook that breaks an option.
 * @param {string} root
 * @returns {Promise<import('../scratch-tree/scratch-tree.mjs').ScratchTree>}
 */
export async function createBrokenTree(root) {
  const tree = await createScratchTree(root);
  await cp(HOOK, join(tree.path, SOURCES, RESOLVING, 'break-option.ts'));
  for (const { file, ...change } of SOURCE_CHANGES)
    await changeSource(tree.path, { file: join(SOURCES, file), ...change });
  return tree;
}
