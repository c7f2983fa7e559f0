import { hasBareStart } from './bare-start.mjs';
import { findComments } from './find-comments.mjs';
import { findTitles } from './find-titles.mjs';
import { LONG_SENTENCE } from './limits.mjs';
import { readMarkdown } from './markdown.mjs';
import { splitSentences } from './sentences.mjs';
import { countWords } from './words.mjs';

/**
 * Lists the comments, titles or sentences that break a limit, one per line, so that they can be
 * found and rewritten.
 * @param {import('./repository.mjs').Repository} repository
 * @param {'comments' | 'titles' | 'sentences'} subject
 * @returns {string}
 */
export function listOffenders({ sources, tests, documents }, subject) {
  switch (subject) {
    case 'comments':
      return [...sources.values()]
        .flat()
        .flatMap(findComments)
        .filter(({ text }) => hasBareStart(text))
        .map(({ path, line, text }) => `${path}:${line} ${text.replaceAll(/\s+/g, ' ')}`)
        .join('\n');
    case 'titles':
      return tests
        .flatMap(findTitles)
        .filter(({ title }) => hasBareStart(title))
        .map(({ path, line, title }) => `${path}:${line} ${title}`)
        .join('\n');
    case 'sentences':
      return documents.flatMap(longSentences).join('\n');
  }
}

/** @param {import('./repository.mjs').Source} document */
function longSentences({ path, text }) {
  const { paragraphs, listItems } = readMarkdown(text);
  return [...paragraphs, ...listItems]
    .flatMap(splitSentences)
    .filter((sentence) => countWords(sentence) > LONG_SENTENCE)
    .map((sentence) => `${path} (${countWords(sentence)} words) ${sentence}`);
}
