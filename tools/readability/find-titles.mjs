import ts from 'typescript';

/**
 * @typedef {import('../boundaries/source-file.mjs').Source} Source
 * @typedef {{ path: string, line: number, title: string, chain: string[] }} Title  The chain holds the titles of the enclosing `describe`s.
 */

const testWords = ['it', 'test'];
const modifiers = ['each', 'failing', 'only', 'skip', 'concurrent', 'todo'];

/**
 * Returns the titles of all tests in a file. A title that is not written where the test is, such as a variable,
 * is left out; what a template inserts shows as `${…}`.
 * @param {Source} source
 * @returns {Title[]}
 */
export function findTitles({ path, text }) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const roleOf = path.endsWith('.contract.ts') ? roleInContract : roleInSpec;
  /** @type {Title[]} */
  const found = [];
  /**
   * @param {ts.Node} node
   * @param {string[]} chain
   */
  const visit = (node, chain) => {
    const title = titleOf(node);
    const role = title !== undefined && ts.isCallExpression(node) ? roleOf(node) : undefined;
    if (title !== undefined && role === 'test') {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push({ path, line: line + 1, title, chain });
    }
    const inner = title !== undefined && role === 'group' ? [...chain, title] : chain;
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(file, []);
  return found;
}

/** @param {ts.Node} node */
function titleOf(node) {
  const first = ts.isCallExpression(node) ? node.arguments[0] : undefined;
  return first && textOf(first);
}

/**
 * Recognises Jest's functions by their names.
 * @param {ts.CallExpression} call
 * @returns {'test' | 'group' | undefined}
 */
function roleInSpec({ expression }) {
  const word = wordOf(expression);
  if (word?.startsWith('describe')) return 'group';
  return word !== undefined && testWords.includes(word) ? 'test' : undefined;
}

/**
 * Recognises the cases of the contract suite by their form, because they are declared by functions
 * of this repository: a statement with a title and a function. The function of a group takes no
 * arguments and is not async.
 * @param {ts.CallExpression} call
 * @returns {'test' | 'group' | undefined}
 */
function roleInContract({ arguments: [, run], parent }) {
  if (!ts.isExpressionStatement(parent) || !run || !ts.isArrowFunction(run)) return undefined;
  const isAsync = run.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
  return run.parameters.length === 0 && !isAsync ? 'group' : 'test';
}

/**
 * Returns the name of the called function: `it` for `it`, `it.failing` and `it.each(rows)`.
 * @param {ts.Expression} callee
 * @returns {string | undefined}
 */
function wordOf(callee) {
  if (ts.isIdentifier(callee)) return callee.text;
  if (ts.isCallExpression(callee)) return wordOfTable(callee.expression);
  if (ts.isTaggedTemplateExpression(callee)) return wordOfTable(callee.tag);
  const isModified = ts.isPropertyAccessExpression(callee) && modifiers.includes(callee.name.text);
  return isModified ? wordOf(callee.expression) : undefined;
}

/** @param {ts.Expression} callee */
const wordOfTable = (callee) =>
  ts.isPropertyAccessExpression(callee) && callee.name.text === 'each'
    ? wordOf(callee.expression)
    : undefined;

/**
 * @param {ts.Expression} expression
 * @returns {string | undefined}
 */
function textOf(expression) {
  if (ts.isStringLiteralLike(expression)) return expression.text;
  if (ts.isTemplateExpression(expression)) {
    const { head, templateSpans } = expression;
    return head.text + templateSpans.map(({ literal }) => `\${…}${literal.text}`).join('');
  }
  if (!ts.isBinaryExpression(expression)) return undefined;
  const [left, right] = [textOf(expression.left), textOf(expression.right)];
  return left === undefined || right === undefined ? undefined : left + right;
}
