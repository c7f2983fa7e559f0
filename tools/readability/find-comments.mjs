import ts from 'typescript';

/**
 * @typedef {import('../boundaries/source-file.mjs').Source} Source
 * @typedef {{ path: string, line: number, lastLine: number, text: string }} Comment  Lines count from 1.
 */

/** Comments for tools, and licences. They do not explain code, so they are not counted. */
const directive =
  /^(?:#|@(?:ts-|internal|license|jest-|swc|type\b)|(?:eslint|oxlint|prettier|istanbul|c8|v8)[\s-]|<reference|copyright|spdx-)/i;

/**
 * Returns the comments of a file in their order. Consecutive lines with two slashes are one comment.
 * @param {Source} source
 * @returns {Comment[]}
 */
export function findComments({ path, text }) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const ranges = [...commentRanges(file).values()].sort((left, right) => left.pos - right.pos);
  /** @type {ts.CommentRange[][]} */
  const groups = [];
  for (const range of ranges) {
    const group = groups.at(-1);
    const previous = group?.at(-1);
    if (previous && continues(previous, range, file)) group?.push(range);
    else groups.push([range]);
  }
  return groups
    .map((group) => commentOf(group, file))
    .filter((comment) => !directive.test(comment.text));
}

/**
 * Looks before and after every token, because the parser keeps comments there. The map is keyed by position,
 * because two tokens share what is between them.
 * @param {ts.SourceFile} file
 */
function commentRanges(file) {
  /** @type {Map<number, ts.CommentRange>} */
  const found = new Map();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    for (const child of children) visit(child);
    if (children.length > 0 || isText(node)) return;
    const leading = ts.getLeadingCommentRanges(file.text, node.pos) ?? [];
    const trailing = ts.getTrailingCommentRanges(file.text, node.end) ?? [];
    for (const range of [...leading, ...trailing]) found.set(range.pos, range);
  };
  visit(file);
  return found;
}

/**
 * The parts of a template end within text, where two slashes may be those of an address.
 * @param {ts.Node} node
 */
const isText = (node) => ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isJsxText(node);

/**
 * @param {ts.CommentRange} previous
 * @param {ts.CommentRange} range
 * @param {ts.SourceFile} file
 */
function continues(previous, range, file) {
  const areLines = [previous, range].every(
    ({ kind }) => kind === ts.SyntaxKind.SingleLineCommentTrivia,
  );
  const [before, here] = [previous, range].map(({ pos }) =>
    file.getLineAndCharacterOfPosition(pos),
  );
  return (
    areLines && before?.line === (here?.line ?? 0) - 1 && before?.character === here?.character
  );
}

/**
 * @param {readonly ts.CommentRange[]} group
 * @param {ts.SourceFile} file
 * @returns {Comment}
 */
function commentOf(group, file) {
  const [first, last] = [group[0], group.at(-1)];
  const lineOf = (/** @type {number} */ position) =>
    file.getLineAndCharacterOfPosition(position).line + 1;
  return {
    path: file.fileName,
    line: lineOf(first?.pos ?? 0),
    lastLine: lineOf(last?.end ?? 0),
    text: group.map(({ pos, end }) => withoutMarks(file.text.slice(pos, end))).join('\n'),
  };
}

/** @param {string} comment */
const withoutMarks = (comment) =>
  comment
    .replace(/^\/\*+|\*+\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*(?:\*|\/{2,})?\s?/, '').trimEnd())
    .join('\n')
    .trim();
