import { hasBareStart } from './bare-start.mjs';
import { findComments } from './find-comments.mjs';
import { findTitles } from './find-titles.mjs';
import { LONG_SENTENCE } from './limits.mjs';
import { readMarkdown, withoutCodeBlocks } from './markdown.mjs';
import { splitSentences } from './sentences.mjs';
import { countLines, measureShape } from './shape.mjs';
import { maximum, median, percentOf, percentile } from './statistics.mjs';
import { countWords } from './words.mjs';

/**
 * @typedef {{ median: number, p90: number, max: number }} Spread
 * @typedef {{ owner: string, files: number, lines: number, comments: number, commentLinesPer100: number, medianWords: number, barePercent: number }} CommentFigures
 * @typedef {{ owner: string, kind: import('./repository.mjs').TestKind | 'all', titles: number, medianWords: number, barePercent: number }} TitleFigures
 * @typedef {{ path: string, words: number, sentences: number, sentenceWords: Spread, paragraphWords: Spread, longSentences: number }} DocumentFigures
 * @typedef {{ comments: CommentFigures[], titles: TitleFigures[], documents: DocumentFigures[], shape: import('./shape.mjs').Shape, jobs?: import('./run/measure-jobs.mjs').JobFigures[] }} Report
 */

/**
 * Measures what needs no running code.
 * @param {import('./repository.mjs').Repository} repository
 * @returns {Report}
 */
export function createStaticReport({ sources, tests, documents }) {
  return {
    comments: [...sources].map(([owner, files]) => commentFigures(owner, files)),
    titles: titleFigures(tests),
    documents: documents.map(documentFigures),
    shape: measureShape([...sources.values()].flat(), tests),
  };
}

/**
 * @param {string} owner
 * @param {readonly import('./repository.mjs').Source[]} files
 * @returns {CommentFigures}
 */
function commentFigures(owner, files) {
  const comments = files.flatMap(findComments);
  const lines = files.reduce((sum, { text }) => sum + countLines(text), 0);
  const commentLines = comments.reduce((sum, { line, lastLine }) => sum + lastLine - line + 1, 0);
  return {
    owner,
    files: files.length,
    lines,
    comments: comments.length,
    commentLinesPer100: lines === 0 ? 0 : Math.round((1000 * commentLines) / lines) / 10,
    medianWords: median(comments.map(({ text }) => countWords(text))),
    barePercent: percentOf(comments, ({ text }) => hasBareStart(text)),
  };
}

/**
 * @param {readonly import('./repository.mjs').TestFile[]} tests
 * @returns {TitleFigures[]}
 */
function titleFigures(tests) {
  const all = tests.flatMap((file) =>
    findTitles(file).map(({ title }) => ({ title, owner: file.owner, kind: file.kind })),
  );
  return [...new Set(all.map(({ owner }) => owner))].sort().flatMap((owner) => {
    const own = all.filter((each) => each.owner === owner);
    const kinds = [...new Set(own.map(({ kind }) => kind))];
    const rows = kinds.map((kind) => ({ kind, titles: own.filter((each) => each.kind === kind) }));
    return [...rows, { kind: /** @type {const} */ ('all'), titles: own }].map(
      ({ kind, titles }) => ({
        owner,
        kind,
        titles: titles.length,
        medianWords: median(titles.map(({ title }) => countWords(title))),
        barePercent: percentOf(titles, ({ title }) => hasBareStart(title)),
      }),
    );
  });
}

/**
 * Measures one document. The spreads are those of running text only, because list items are often fragments;
 * long sentences are counted in list items as well.
 * @param {import('./repository.mjs').Source} document
 * @returns {DocumentFigures}
 */
function documentFigures({ path, text }) {
  const { paragraphs, listItems } = readMarkdown(text);
  const sentences = paragraphs.flatMap(splitSentences).map(countWords);
  const listed = listItems.flatMap(splitSentences).map(countWords);
  return {
    path,
    words: countWords(withoutCodeBlocks(text)),
    sentences: sentences.length,
    sentenceWords: spreadOf(sentences),
    paragraphWords: spreadOf(paragraphs.map(countWords)),
    longSentences: [...sentences, ...listed].filter((words) => words > LONG_SENTENCE).length,
  };
}

/**
 * @param {readonly number[]} values
 * @returns {Spread}
 */
const spreadOf = (values) => ({
  median: median(values),
  p90: percentile(values, 0.9),
  max: maximum(values),
});
