/** Limits of `npm run readability -- --check`: the highest values that it accepts. */
export const limits = {
  bareCommentPercent: 10,
  bareTitlePercent: 10,
  medianSentenceWords: 18,
  filesPerFolder: 20,
  guideWords: 800,
  architectureWords: 1_500,
};

/** Sentences with more words than this are counted and listed, but do not fail the check. */
export const LONG_SENTENCE = 25;
/** Spec files with more lines than this are listed. */
export const LONG_SPEC = 400;

/**
 * Returns a message for each limit that is exceeded, with what to do about it.
 * @param {import('./static-report.mjs').Report} report
 * @returns {string[]}
 */
export function findBrokenLimits({ comments, titles, documents, shape }) {
  return [
    ...comments
      .filter(({ barePercent }) => barePercent > limits.bareCommentPercent)
      .map(
        ({ owner, barePercent }) =>
          `${owner}: ${barePercent} % of the comments have a bare start, at most ${limits.bareCommentPercent} % may (npm run readability -- --list comments)`,
      ),
    ...titles
      .filter(({ kind, barePercent }) => kind === 'all' && barePercent > limits.bareTitlePercent)
      .map(
        ({ owner, barePercent }) =>
          `${owner}: ${barePercent} % of the test titles have a bare start, at most ${limits.bareTitlePercent} % may (npm run readability -- --list titles)`,
      ),
    ...documents.flatMap(brokenByDocument),
    ...shape.fullFolders.map(
      ({ folder, files }) =>
        `${folder}: ${files} files in one folder, at most ${limits.filesPerFolder} may be; make folders by topic`,
    ),
  ];
}

/** @param {import('./static-report.mjs').DocumentFigures} document */
function brokenByDocument({ path, words, sentenceWords }) {
  const broken = [];
  if (sentenceWords.median > limits.medianSentenceWords) {
    broken.push(
      `${path}: ${sentenceWords.median} words per sentence at the median, at most ${limits.medianSentenceWords} may be (npm run readability -- --list sentences)`,
    );
  }
  const mostWords = mostWordsOf(path);
  if (words > mostWords) {
    broken.push(
      `${path}: ${words} words, at most ${mostWords} may be; move a part to another page`,
    );
  }
  return broken;
}

/** @param {string} path */
function mostWordsOf(path) {
  if (path === 'ARCHITECTURE.md') return limits.architectureWords;
  return isGuide(path) ? limits.guideWords : Infinity;
}

/** @param {string} path */
export const isGuide = (path) => path.startsWith('docs/guides/');
