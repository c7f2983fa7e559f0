import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { withAdaptedImports } from './adapted-imports.mjs';
import { exportedNames } from './exported-names.mjs';

/** Files of today that tests need, besides the tests themselves. */
const TEST_FOLDERS = ['libs', 'test', 'tools'];

/**
 * Creates a tree of an earlier commit, with the tests of today.
 * @param {string} root
 * @param {string} commit
 * @returns {Promise<import('../scratch-tree/scratch-tree.mjs').ScratchTree>}
 */
export async function createEarlierTree(root, commit) {
  const path = await mkdtemp(join(tmpdir(), 'nest-event-bus-earlier-'));
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', path], { input: archive });
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'), 'dir');
  await cp(join(root, 'jest.config.mjs'), join(path, 'jest.config.mjs'));
  await copyTests(root, path);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * @param {string} root
 * @param {string} tree
 */
async function copyTests(root, tree) {
  const tests = testFilesIn(root);
  const copied = new Set(tests);
  const earlier = {
    exportedNames: exportedNames(tree),
    has: (/** @type {string} */ file) => copied.has(file) || existsSync(join(tree, file)),
  };
  for (const file of tests) {
    const text = await readFile(join(root, file), 'utf8');
    await mkdir(dirname(join(tree, file)), { recursive: true });
    const isCode = file.endsWith('.ts');
    await writeFile(join(tree, file), isCode ? withAdaptedImports(file, text, earlier) : text);
  }
}

/** @param {string} root */
function testFilesIn(root) {
  return TEST_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1)),
  ).filter((file) => isTestFile(file) && !/(^|\/)(node_modules|dist)\//.test(file));
}

/** @param {string} file */
const isTestFile = (file) =>
  /\.spec(-support)?\.ts$/.test(file) ||
  /^libs\/[^/]+\/test\/|^test\/|^libs\/broker\/src\/contract\//.test(file);
