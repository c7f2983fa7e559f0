import ts from 'typescript';

/**
 * A change of a source. Two mutations of a source nest, or they are disjoint.
 *
 * @typedef {object} Mutation
 * @property {'expression' | 'property' | 'statement' | 'body'} kind  `expression`: the replacement is
 *   evaluated instead. `property`: a shorthand property gets the replacement. `statement`: the statement is
 *   left out. `body`: the function returns at once.
 * @property {number} from
 * @property {number} to
 * @property {string} replacement
 * @property {string} change  for people
 */

/** @type {ReadonlyMap<ts.SyntaxKind, string>} */
const OTHER_OPERATORS = new Map([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
]);

/** @type {ReadonlyMap<string, string>} */
const OTHER_METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
]);

/** Calls whose arguments are words for people. */
const WORDS = /^(new \w*(Error|Exception)|(\w+\.)?violations\.add|(this\.#?|\w+\.)*logger\.\w+)\b/;

/**
 * Finds the mutations of a source, outer ones before inner ones.
 * @param {string} text
 * @returns {readonly Mutation[]}
 */
export function findMutations(text) {
  const source = ts.createSourceFile('mutated.ts', text, ts.ScriptTarget.Latest, true);
  /** @type {Mutation[]} */
  const found = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (isWithoutEffect(node)) return;
    found.push(...mutationsOf(node));
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(source, visit);
  return found.toSorted((a, b) => a.from - b.from || b.to - a.to);
}

/** @param {ts.Node} node */
function isWithoutEffect(node) {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
    return true;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  return (ts.isCallExpression(node) || ts.isNewExpression(node)) && WORDS.test(node.getText());
}

/**
 * @param {ts.Node} node
 * @returns {readonly Mutation[]}
 */
function mutationsOf(node) {
  if (ts.isIfStatement(node)) return [negated(node.expression)];
  if (ts.isConditionalExpression(node)) return [negated(node.condition)];
  // A negated condition would only loop for ever.
  if (ts.isWhileStatement(node)) return [replaced(node.expression, 'false')];
  if (ts.isBinaryExpression(node)) return binaryMutations(node);
  if (ts.isCallExpression(node)) return callMutations(node);
  if (ts.isExpressionStatement(node)) return statementMutations(node);
  if (ts.isBlock(node)) return bodyMutations(node);
  if (ts.isShorthandPropertyAssignment(node)) return shorthandMutations(node);
  if (ts.isPropertyAssignment(node)) return propertyMutations(node);
  return literalMutations(node);
}

/**
 * @param {ts.Node} node
 * @param {string} replacement
 * @returns {Mutation}
 */
function replaced(node, replacement) {
  const change = `${short(node.getText())} -> ${short(replacement)}`;
  return { kind: 'expression', from: node.getStart(), to: node.end, replacement, change };
}

/** @param {ts.Expression} condition */
const negated = (condition) => replaced(condition, `!(${condition.getText()})`);

/** @param {ts.BinaryExpression} node */
function binaryMutations(node) {
  const { left, operatorToken, right } = node;
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return [replaced(node, left.getText())];
  const other = OTHER_OPERATORS.get(operatorToken.kind);
  return other ? [replaced(node, `${left.getText()} ${other} ${right.getText()}`)] : [];
}

/**
 * Leaves optional chains alone, because a part of one cannot be replaced on its own.
 * @param {ts.CallExpression} node
 */
function callMutations(node) {
  const { expression: callee, arguments: given } = node;
  if (!ts.isPropertyAccessExpression(callee) || ts.isOptionalChain(node)) return [];
  const target = callee.expression.getText();
  const name = callee.name.text;
  if (name === 'filter' && given.length === 1) return [replaced(node, target)];
  const other = OTHER_METHODS.get(name);
  if (!other) return [];
  return [replaced(node, `${target}.${other}(${given.map((each) => each.getText()).join(', ')})`)];
}

/**
 * @param {ts.ExpressionStatement} node
 * @returns {readonly Mutation[]}
 */
function statementMutations(node) {
  const text = node.getText();
  if (/^super\b|logger\.debug\b/.test(text)) return [];
  const change = `without: ${short(text)}`;
  return [{ kind: 'statement', from: node.getStart(), to: node.end, replacement: '', change }];
}

/**
 * @param {ts.Block} node
 * @returns {readonly Mutation[]}
 */
function bodyMutations(node) {
  const { parent, statements } = node;
  if (statements.length < 2 || !ts.isFunctionLike(parent) || ts.isConstructorDeclaration(parent))
    return [];
  const from = node.getStart() + 1;
  const change = `${parent.name?.getText() ?? 'a function'} returns at once`;
  return [{ kind: 'body', from, to: from, replacement: '', change }];
}

/**
 * @param {ts.ShorthandPropertyAssignment} node
 * @returns {readonly Mutation[]}
 */
function shorthandMutations({ name }) {
  const change = `${name.text}: undefined`;
  return [{ ...replaced(name, 'undefined'), kind: 'property', change }];
}

/** @param {ts.PropertyAssignment} node */
function propertyMutations({ name, initializer }) {
  const isSimple = ts.isIdentifier(initializer) || ts.isPropertyAccessExpression(initializer);
  if (!isSimple || initializer.getText() === 'undefined') return [];
  return [{ ...replaced(initializer, 'undefined'), change: `${name.getText()}: undefined` }];
}

/** @param {ts.Node} node */
function literalMutations(node) {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [replaced(node, 'false')];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [replaced(node, 'true')];
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return [];
  if (ts.isNumericLiteral(node))
    return [replaced(node, String(Number(node.text.replaceAll('_', '')) + 1))];
  const isWord = ts.isStringLiteral(node) && /^[\w.-]+$/.test(node.text);
  return isWord ? [replaced(node, `'${node.text}-mutant'`)] : [];
}

/** @param {string} text */
function short(text) {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= 70 ? line : `${line.slice(0, 67)}...`;
}
