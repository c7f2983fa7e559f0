import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * Every TypeScript file under libs/<package>/src.
 * @param {string} root of the repository
 * @returns {import('./source-file.mjs').Source[]}
 */
export function readSources(root) {
  return libraries(root)
    .map((library) => join(root, 'libs', library, 'src'))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.[cm]?ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({
      path: relative(root, file).split(sep).join('/'),
      text: readFileSync(file, 'utf8'),
    }));
}

/**
 * Reads the runtime dependencies in the package.json of each library.
 * @param {string} root
 * @returns {Record<string, string[]>}
 */
export function readDeclaredDependencies(root) {
  return Object.fromEntries(
    libraries(root).map((library) => {
      const manifest = JSON.parse(
        readFileSync(join(root, 'libs', library, 'package.json'), 'utf8'),
      );
      const { dependencies = {}, peerDependencies = {} } = manifest;
      return [library, Object.keys({ ...dependencies, ...peerDependencies })];
    }),
  );
}

/** @param {string} root */
function libraries(root) {
  return readdirSync(join(root, 'libs'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}
