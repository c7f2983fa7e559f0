import ts from 'typescript';

/**
 * @typedef {{ path: string, text: string }} Source  The path is relative to the repository, with slashes.
 * @typedef {{ path: string, line: number, message: string }} Offence
 */

/** @param {string} path */
export const isSpec = (path) => /\.spec(-support)?\.ts$/.test(path);

/**
 * @param {ts.Node} node
 * @param {string} message
 * @returns {Offence}
 */
export function offenceAt(node, message) {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
  return { path: file.fileName, line: line + 1, message };
}

/**
 * Calls `visit` for the node and for every node below it.
 * @param {ts.Node} node
 * @param {(node: ts.Node) => void} visit
 */
export function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/**
 * Returns all names of other modules in a file: in import, export from, import(), require(), import
 * = require() and import types.
 * @param {ts.SourceFile} file
 * @returns {ts.StringLiteralLike[]}
 */
export function moduleSpecifiers(file) {
  /** @type {ts.StringLiteralLike[]} */
  const found = [];
  walk(file, (node) => {
    const specifier = specifierOf(node);
    if (specifier && ts.isStringLiteralLike(specifier)) found.push(specifier);
  });
  return found;
}

/**
 * @param {ts.Node} node
 * @returns {ts.Node | undefined}
 */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return node.argument.literal;
  if (ts.isCallExpression(node) && isModuleCall(node.expression)) return node.arguments[0];
  return undefined;
}

/** @param {ts.Expression} callee */
function isModuleCall(callee) {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  const name = ts.isPropertyAccessExpression(callee) ? callee.expression : callee;
  return ts.isIdentifier(name) && name.text === 'require';
}
