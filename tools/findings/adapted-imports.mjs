import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

/**
 * @typedef {object} Tree
 * @property {(file: string) => boolean} has
 * @property {ReadonlyMap<string, readonly string[]>} exportedNames  files by name
 */

/**
 * Makes a test of today load in a tree of an earlier day, in which sources have other paths: an import from a
 * file that is not there becomes an import from the file that exports the name there. A name that nothing
 * exports stays as it is, and its test does not load.
 * @param {string} file  relative to the tree
 * @param {string} text
 * @param {Tree} tree
 * @returns {string}
 */
export function withAdaptedImports(file, text, tree) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  let adapted = '';
  let at = 0;
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    const instead = adaptedImport(file, statement, tree);
    if (instead === undefined) continue;
    adapted += text.slice(at, statement.getStart()) + instead;
    at = statement.end;
  }
  return adapted + text.slice(at);
}

/**
 * @param {string} file
 * @param {ts.ImportDeclaration} statement
 * @param {Tree} tree
 * @returns {string | undefined}
 */
function adaptedImport(file, { importClause, moduleSpecifier }, tree) {
  const path = /** @type {ts.StringLiteral} */ (moduleSpecifier).text;
  if (!path.startsWith('.') || !importClause) return undefined;
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return '';
  const target = join(dirname(file), path).replace(/\.js$/, '.ts');
  if (tree.has(target)) return undefined;
  const { namedBindings } = importClause;
  if (!namedBindings || !ts.isNamedImports(namedBindings)) return undefined;
  return namedBindings.elements
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map((element) => {
      const name = (element.propertyName ?? element.name).text;
      const library = target.split('/').slice(0, 2).join('/');
      const candidates = tree.exportedNames.get(name) ?? [];
      const found = candidates.find((each) => each.startsWith(library)) ?? candidates[0];
      const from = found ? relative(dirname(file), found).replace(/\.ts$/, '.js') : path;
      return `import { ${element.getText()} } from '${from.startsWith('.') ? from : `./${from}`}';`;
    })
    .join('\n');
}
