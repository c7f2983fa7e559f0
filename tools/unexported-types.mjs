import ts from 'typescript';
import { readEntryPoints } from './public-api.mjs';

/**
 * Lists the types of this repository that exported signatures name, and that no entry point exports.
 * An application cannot write such a type down. A type that its own file does not export is a part of
 * the signature, so the types that it names count instead.
 * @param {string} root of the repository
 * @returns {string[]} `type (named by export of entry point)`, sorted
 */
export function findUnexportedTypes(root) {
  const { entryPoints, checker } = readEntryPoints(root);
  const exported = new Set(entryPoints.flatMap(({ symbols }) => symbols));
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const { name, symbols } of entryPoints)
    for (const symbol of symbols)
      for (const named of typesNamedBy(symbol, checker))
        if (!exported.has(named) && !found.has(named.name))
          found.set(named.name, `${named.name} (named by ${symbol.name} of ${name})`);
  return [...found.values()].sort();
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 * @returns {Set<ts.Symbol>}
 */
function typesNamedBy(symbol, checker) {
  /** @type {Set<ts.Symbol>} */
  const named = new Set();
  /** @type {Set<ts.Symbol>} */
  const seen = new Set();
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return named;

  /** @param {ts.Node} node */
  function visit(node) {
    if (isHidden(node)) return;
    // The operand of `typeof` is a value, whose type the signature has computed.
    if (ts.isTypeQueryNode(node)) return;
    if (ts.isTypeReferenceNode(node)) add(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) add(node.expression);
    ts.forEachChild(node, visit);
  }

  /** @param {ts.Node} node */
  function add(node) {
    const direct = checker.getSymbolAtLocation(node);
    const target =
      direct && direct.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(direct) : direct;
    if (!target || !isOurs(target) || seen.has(target)) return;
    seen.add(target);
    if (isExportedByItsFile(target)) named.add(target);
    else for (const declaration of target.declarations ?? []) visit(declaration);
  }
}

/**
 * Returns whether the node is no part of a signature for applications: a body, a default, a private or
 * `@internal` member, or the constructor, which Nest or the bus calls.
 * @param {ts.Node} node
 */
function isHidden(node) {
  if (ts.isBlock(node) || ts.isDecorator(node) || ts.isConstructorDeclaration(node)) return true;
  if (ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')) return true;
  const { parent } = node;
  if (
    (ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent)) &&
    parent.initializer === node
  )
    return true;
  if (ts.isClassElement(node) && node.name && ts.isPrivateIdentifier(node.name)) return true;
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : [];
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
}

/** @param {ts.Symbol} symbol */
function isOurs({ flags, declarations = [] }) {
  if (flags & (ts.SymbolFlags.TypeParameter | ts.SymbolFlags.Property)) return false;
  return declarations.some((declaration) =>
    /\/libs\/[^/]+\/src\//.test(declaration.getSourceFile().fileName),
  );
}

/** @param {ts.Symbol} symbol */
function isExportedByItsFile({ declarations = [] }) {
  return declarations.some(
    (declaration) => ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export,
  );
}
