import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Reads the public API of each library: by entry point, the kind and name of every export, sorted.
 * @param {string} root of the repository
 * @returns {Map<string, string[]>}
 */
export function readPublicApi(root) {
  return new Map(
    readEntryPoints(root).entryPoints.map(({ name, symbols }) => [
      name,
      symbols.map((symbol) => `${kindOf(symbol)} ${symbol.name}`).sort(),
    ]),
  );
}

/**
 * Reads the entry points of all libraries, with the symbols that they export. A symbol that is
 * exported again has its own name there, and the declarations of the original.
 * @param {string} root of the repository
 */
export function readEntryPoints(root) {
  const entryPoints = findEntryPoints(root);
  const program = ts.createProgram(
    entryPoints.map(({ file }) => file),
    readOptions(root),
  );
  const checker = program.getTypeChecker();
  return {
    checker,
    entryPoints: entryPoints.map(({ name, file }) => ({
      name,
      symbols: exportsOf(program.getSourceFile(file), checker),
    })),
  };
}

/** @param {string} root */
function findEntryPoints(root) {
  return readdirSync(join(root, 'libs')).flatMap((library) => {
    const manifest = JSON.parse(readFileSync(join(root, 'libs', library, 'package.json'), 'utf8'));
    return Object.keys(manifest.exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => ({
        name: manifest.name + subpath.slice(1),
        file: join(root, 'libs', library, 'src', subpath, 'index.ts'),
      }));
  });
}

/**
 * @param {ts.SourceFile | undefined} file
 * @param {ts.TypeChecker} checker
 */
function exportsOf(file, checker) {
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) throw new Error(`An entry point of package.json has no source: ${file?.fileName}`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) =>
      symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    );
}

/** @type {[ts.SymbolFlags, string][]} */
const kinds = [
  [ts.SymbolFlags.Class, 'class'],
  [ts.SymbolFlags.Function, 'function'],
  [ts.SymbolFlags.Enum, 'enum'],
  [ts.SymbolFlags.Variable, 'const'],
  [ts.SymbolFlags.Interface, 'interface'],
  [ts.SymbolFlags.TypeAlias, 'type'],
];

/** @param {ts.Symbol} symbol */
function kindOf({ flags }) {
  return kinds.find(([flag]) => flags & flag)?.[1] ?? 'unknown';
}

/** @param {string} root */
function readOptions(root) {
  const path = join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, (file) => ts.sys.readFile(file));
  return ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root).options;
}
