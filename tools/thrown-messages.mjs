import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Shortest text that counts as a message. Shorter ones are codes and names.
 */
const SHORTEST = 16;

/**
 * Reads the messages of all errors that core and broker create, as they are written in the source.
 * Templates keep their placeholders.
 * @param {string} root of the repository
 * @returns {{ file: string, error: string, text: string }[]}
 */
export function readThrownMessages(root) {
  return ['core', 'broker'].flatMap((library) => {
    const folder = join(root, 'libs', library, 'src');
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('.spec') && !/contract/.test(file))
      .flatMap((file) =>
        messagesIn(`${library}/${file}`, readFileSync(join(folder, file), 'utf8')),
      );
  });
}

/**
 * @param {string} file
 * @param {string} source
 */
function messagesIn(file, source) {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  /** @type {{ file: string, error: string, text: string }[]} */
  const found = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    const error = errorOf(node);
    const text = error === undefined ? '' : textsIn(node).join(' ');
    if (error !== undefined && text.length >= SHORTEST) found.push({ file, error, text });
    else ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/**
 * Returns the class of the error that the expression creates. For `super(...)` that is the class
 * around it.
 * @param {ts.Node} node
 */
function errorOf(node) {
  if (ts.isNewExpression(node)) {
    const name = node.expression.getText();
    return /(Error|Exception)$/.test(name) ? name : undefined;
  }
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.SuperKeyword)
    return undefined;
  const type = ts.findAncestor(node, ts.isClassDeclaration);
  const name = type?.name?.text ?? '';
  return /(Error|Exception)$/.test(name) ? name : undefined;
}

/** @param {ts.Node} node */
function textsIn(node) {
  /** @type {string[]} */
  const texts = [];
  /** @param {ts.Node} child */
  const visit = (child) => {
    if (ts.isStringLiteralLike(child) || ts.isTemplateExpression(child))
      texts.push(child.getText().slice(1, -1));
    else ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return texts.filter((text) => text.length >= SHORTEST);
}
