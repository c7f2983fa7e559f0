import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';

const HOOK = join(import.meta.dirname, 'break-option.mjs');
const SOURCES = 'libs/core/src';
const RESOLVING = 'config/resolving';
const COPIED = ['libs', 'test', 'tools', 'jest.config.mjs', 'package.json', 'tsconfig.base.json'];
const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage']);

/** Changes of the sources in the copy: the file, the text that occurs once in it, and its replacement. */
const CHANGES = [
  {
    file: 'config/resolving/resolve-binding.ts',
    text: 'export function draftBinding(',
    replacement: `import { areViolationsAccepted, resolveWithout } from './break-option.js';

export function draftBinding(name: string, given: readonly BindingLayer[], context: BindingContext): BindingDraft {
  return resolveWithout(draftWhole, name, given, context);
}

function draftWhole(`,
  },
  {
    file: 'config/resolving/resolve-binding.ts',
    text: 'violations.all.length === 0 ? deepFreeze(binding)',
    replacement: 'violations.all.length === 0 || areViolationsAccepted() ? deepFreeze(binding)',
  },
  {
    file: 'config/resolving/resolve-options.ts',
    text: 'return [own, ...loaded];',
    replacement: `return rootsWithout([own, ...loaded]) as readonly Layer[];`,
  },
  {
    file: 'config/resolving/resolve-options.ts',
    text: 'function rootLayers(',
    replacement: `import { rootsWithout } from './break-option.js';\n\nfunction rootLayers(`,
  },
  {
    // The bus needs its clock before it resolves the options.
    file: 'nest/event-bus-providers.ts',
    text: 'options?.runtime ?? realRuntime',
    replacement: `(process.env['BREAK_OPTION'] === 'runtime' ? undefined : options?.runtime) ?? realRuntime`,
  },
];

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
  for (const change of CHANGES) await applyChange(path, change);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * @param {string} tree
 * @param {(typeof CHANGES)[number]} change
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
