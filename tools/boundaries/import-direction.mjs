import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import ts from 'typescript';
import { confined, layers, packages } from './directions.mjs';
import { isSpec, moduleSpecifiers, offenceAt } from './source-file.mjs';

const scope = '@nest-event-bus/';

/**
 * Finds imports that violate the directions of the packages, or of the layers inside a package, and
 * imports of packages that package.json does not declare. For specs, only the directions of the
 * packages apply.
 * @param {readonly import('./source-file.mjs').Source[]} sources
 * @param {Readonly<Record<string, readonly string[]>>} declared by package: what its package.json depends on
 * @returns {import('./source-file.mjs').Offence[]}
 */
export function findForbiddenImports(sources, declared) {
  return sources.flatMap(({ path, text }) => {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    return moduleSpecifiers(file).flatMap((specifier) => {
      const why = objection(path, specifier.text, declared);
      return why ? [offenceAt(specifier, `imports '${specifier.text}': ${why}`)] : [];
    });
  });
}

/**
 * @param {string} path
 * @param {string} specifier
 * @param {Readonly<Record<string, readonly string[]>>} declared
 * @returns {string | undefined}
 */
function objection(path, specifier, declared) {
  const [, owner = ''] = path.split('/');
  if (specifier.startsWith('.')) return relativeObjection(path, specifier, owner);
  if (specifier.startsWith(scope)) return packageObjection(owner, specifier);
  return isSpec(path) ? undefined : externalObjection(path, specifier, owner, declared);
}

/**
 * @param {string} path
 * @param {string} specifier
 * @param {string} owner
 */
function relativeObjection(path, specifier, owner) {
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(`libs/${owner}/src/`)) return `it lies outside of libs/${owner}/src`;
  if (!layersOf(owner) || isSpec(path)) return undefined;
  const from = layerOf(owner, path);
  const to = layerOf(owner, target);
  const layer = layersOf(owner)?.[from];
  if (!layer) return `the layer '${from}' is missing from tools/boundaries/directions.mjs`;
  if (from === to || layer.layers.includes(to)) return undefined;
  return `${from} may import ${listed(layer.layers)}, not ${to}`;
}

/**
 * @param {string} owner
 * @param {string} specifier
 */
function packageObjection(owner, specifier) {
  const allowed = lookUp(packages, owner);
  if (!allowed) return `the package '${owner}' is missing from tools/boundaries/directions.mjs`;
  const target = specifier.slice(scope.length).split('/')[0] ?? '';
  return allowed.includes(target) ? undefined : `${owner} may import ${listed(allowed)} of ours`;
}

/**
 * @param {string} path
 * @param {string} specifier
 * @param {string} owner
 * @param {Readonly<Record<string, readonly string[]>>} declared
 */
function externalObjection(path, specifier, owner, declared) {
  const layer = layerOf(owner, path);
  const only = layersOf(owner)?.[layer]?.onlyPackages;
  if (only && !only.includes(specifier)) return `${layer} may import ${listed(only)}`;
  if (isBuiltin(specifier)) return undefined;
  const name = packageName(specifier);
  const home = lookUp(confined, name);
  if (home && !path.startsWith(home)) return `only ${home} may touch ${name}`;
  if (declared[owner]?.includes(name)) return undefined;
  return `libs/${owner}/package.json does not depend on ${name}`;
}

/** @param {string} owner */
const layersOf = (owner) => lookUp(layers, owner);

/**
 * Returns the layer of a file: the most deeply nested folder of its path that the table lists,
 * otherwise its top folder.
 * @param {string} owner
 * @param {string} path
 */
function layerOf(owner, path) {
  const folders = posix.dirname(path).split('/').slice(3);
  const known = layersOf(owner) ?? {};
  for (let depth = folders.length; depth > 1; depth -= 1) {
    const nested = folders.slice(0, depth).join('/');
    if (Object.hasOwn(known, nested)) return nested;
  }
  return folders[0] ?? 'root';
}

/** @param {string} specifier */
function packageName(specifier) {
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

/**
 * @template T
 * @param {Readonly<Record<string, T>>} table
 * @param {string} key
 * @returns {T | undefined}
 */
const lookUp = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

/** @param {readonly string[]} names */
const listed = (names) => (names.length === 0 ? 'nothing' : names.join(', '));
