import { isGuide, LONG_SENTENCE, LONG_SPEC, limits } from './limits.mjs';
import { textTable } from './text-table.mjs';

/**
 * @param {import('./static-report.mjs').Report} report
 * @returns {string}
 */
export function formatReport(report) {
  const parts = [...staticParts(report), ...(report.jobs ? [jobPart(report.jobs)] : [])];
  return parts.map(({ title, body }) => `${title}\n\n${body}`).join('\n\n');
}

/**
 * @param {import('./static-report.mjs').Report} report
 * @returns {{ title: string, body: string }[]}
 */
function staticParts({ comments, titles, documents, shape }) {
  const [pages, guides] = [
    documents.filter(({ path }) => !isGuide(path)),
    documents.filter(({ path }) => isGuide(path)),
  ];
  return [
    {
      title: 'Comments of sources',
      body: textTable(
        [
          'package',
          'files',
          'lines',
          'comments',
          'comment lines/100',
          'words median',
          'bare start %',
        ],
        comments.map((each) => [
          each.owner,
          each.files,
          each.lines,
          each.comments,
          each.commentLinesPer100,
          each.medianWords,
          each.barePercent,
        ]),
      ),
    },
    {
      title: 'Test titles',
      body: textTable(
        ['package, kind', 'titles', 'words median', 'bare start %'],
        titles.map((each) => [
          `${each.owner}, ${each.kind}`,
          each.titles,
          each.medianWords,
          each.barePercent,
        ]),
      ),
    },
    {
      title:
        'Documents: words per sentence and per paragraph of running text (median, 90 %, longest)',
      body: documentTable(pages),
    },
    ...(guides.length > 0 ? [{ title: 'Guides', body: documentTable(guides) }] : []),
    {
      title: `Folders with more than ${limits.filesPerFolder} source files side by side: ${shape.fullFolders.length}`,
      body: listOf(shape.fullFolders.map(({ folder, files }) => [files, folder])),
    },
    {
      title: 'Longest source file',
      body: listOf(
        shape.longestSource ? [[shape.longestSource.lines, shape.longestSource.path]] : [],
      ),
    },
    {
      title: `Spec files above ${LONG_SPEC} lines: ${shape.longSpecs.length}`,
      body: listOf(shape.longSpecs.map(({ lines, path }) => [lines, path])),
    },
  ];
}

/** @param {readonly import('./static-report.mjs').DocumentFigures[]} documents */
const documentTable = (documents) =>
  textTable(
    [
      'document',
      'words',
      'sentences',
      'words/sentence',
      `over ${LONG_SENTENCE} words`,
      'words/paragraph',
    ],
    documents.map((each) => [
      each.path,
      each.words,
      each.sentences,
      formatSpread(each.sentenceWords),
      each.longSentences,
      formatSpread(each.paragraphWords),
    ]),
  );

/** @param {import('./static-report.mjs').Spread} spread */
const formatSpread = ({ median, p90, max }) => `${median} / ${p90} / ${max}`;

/** @param {readonly (readonly [number, string])[]} rows */
const listOf = (rows) =>
  rows.length === 0
    ? '  none'
    : rows.map(([count, what]) => `  ${String(count).padStart(4)}  ${what}`).join('\n');

/** @param {readonly import('./run/measure-jobs.mjs').JobFigures[]} jobs */
function jobPart(jobs) {
  const rows = jobs.flatMap(({ job, total, packages, withIdle }) => [
    jobRow(job, total),
    ...Object.entries(packages).map(([name, sum]) => jobRow(`  ${name} alone`, sum)),
    jobRow('  with what also runs idle', withIdle),
  ]);
  return {
    title: 'Functions and files of ours that run for one job, and not in an idle time',
    body: textTable(['job', 'functions', 'calls', 'files'], rows),
  };
}

/**
 * @param {string} name
 * @param {import('./run/measure-jobs.mjs').Sum} sum
 */
const jobRow = (name, { functions, calls, files }) => [name, functions, calls, files];
