import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * @typedef {import('../boundaries/source-file.mjs').Source} Source
 * @typedef {'unit' | 'whole bus' | 'contract' | 'integration' | 'chaos' | 'applications'} TestKind
 * @typedef {Source & { owner: string, kind: TestKind }} TestFile  The owner is a package; `repository` for tests of several.
 * @typedef {{ sources: Map<string, Source[]>, tests: TestFile[], documents: Source[] }} Repository
 */

/**
 * Patterns for the paths of files with tests. The first pattern that matches decides. Its first
 * group is the package.
 */
const testPlaces = /** @type {{ pattern: RegExp, kind: TestKind }[]} */ ([
  { pattern: /^libs\/([^/]+)\/src\/.*\.contract\.ts$/, kind: 'contract' },
  { pattern: /^libs\/([^/]+)\/src\/.*\.spec(?:-support)?\.ts$/, kind: 'unit' },
  { pattern: /^libs\/([^/]+)\/test\/.*\.ts$/, kind: 'whole bus' },
  { pattern: /^test\/unit\/.*\.ts$/, kind: 'unit' },
  { pattern: /^test\/integration\/.*\.ts$/, kind: 'integration' },
  { pattern: /^test\/chaos\/.*\.ts$/, kind: 'chaos' },
  { pattern: /^apps\/[^/]+\/test\/.*\.ts$/, kind: 'applications' },
]);

const sourcePlace = /^libs\/([^/]+)\/src\/.*\.[cm]?ts$/;
const document =
  /^(?:ARCHITECTURE\.md|README\.md|CONTRIBUTING\.md|docs\/.*\.md|libs\/[^/]+\/README\.md)$/;

/**
 * Reads sources, tests and documents. No folder inside a package is named here, so that packages can be
 * rearranged.
 * @param {string} root of the repository
 * @returns {Repository}
 */
export function readRepository(root) {
  /** @type {Repository} */
  const repository = { sources: new Map(), tests: [], documents: [] };
  for (const path of listFiles(root)) {
    const read = () => ({ path, text: readFileSync(join(root, path), 'utf8') });
    const place = testPlaces.find(({ pattern }) => pattern.test(path));
    if (place) {
      const owner = place.pattern.exec(path)?.[1] ?? 'repository';
      repository.tests.push({ ...read(), owner, kind: place.kind });
    } else if (document.test(path)) repository.documents.push(read());
    else if (sourcePlace.test(path) && !path.endsWith('.d.ts')) {
      const owner = sourcePlace.exec(path)?.[1] ?? '';
      repository.sources.set(owner, [...(repository.sources.get(owner) ?? []), read()]);
    }
  }
  return repository;
}

/** @param {string} root */
function listFiles(root) {
  const tops = ['libs', 'test', 'apps', 'docs'].map((name) => join(root, name)).filter(existsSync);
  const ofRoot = readdirSync(root, { withFileTypes: true });
  const below = tops.flatMap((top) => filesBelow(top));
  return [...ofRoot.filter((entry) => entry.isFile()).map(pathOf), ...below]
    .map((file) => relative(root, file).split(sep).join('/'))
    .sort();
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isFile()) return [pathOf(entry)];
    const isOurs = entry.isDirectory() && !['node_modules', 'dist'].includes(entry.name);
    return isOurs ? filesBelow(pathOf(entry)) : [];
  });
}

/** @param {import('node:fs').Dirent} entry */
const pathOf = (entry) => join(entry.parentPath, entry.name);
