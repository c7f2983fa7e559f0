import { readArguments } from '../../tools/readability/arguments.mjs';
import { formatFunctions } from '../../tools/readability/function-list.mjs';
import { hasBareStart } from '../../tools/readability/bare-start.mjs';
import { findComments } from '../../tools/readability/find-comments.mjs';
import { findTitles } from '../../tools/readability/find-titles.mjs';
import { findBrokenLimits, limits } from '../../tools/readability/limits.mjs';
import { readMarkdown, withoutCodeBlocks } from '../../tools/readability/markdown.mjs';
import { draw } from '../../tools/readability/sample.mjs';
import { splitSentences } from '../../tools/readability/sentences.mjs';
import { createStaticReport } from '../../tools/readability/static-report.mjs';
import { maximum, median, percentile, percentOf } from '../../tools/readability/statistics.mjs';
import { countWords } from '../../tools/readability/words.mjs';

const lines = (...texts: string[]): string => texts.join('\n');

describe('hasBareStart', () => {
  it.each([
    'It waits here.',
    'what an assignment changes',
    'Of the tiers that it left.',
    '(Those that are left.)',
    "Nobody's fault.",
    '**None** of them.',
  ])('accepts as bare: %s', (text) => {
    expect(hasBareStart(text)).toBe(true);
  });

  it.each([
    'Returns the first failure.',
    'The offset that is committed next.',
    'Italic text is kept.',
    '`it` is called once.',
    '%s of the broker is refused',
    '-1 means no limit.',
    '',
  ])('does not accept as bare: %s', (text) => {
    expect(hasBareStart(text)).toBe(false);
  });
});

describe('splitSentences', () => {
  it.each([
    ['One ends. Another begins.', ['One ends.', 'Another begins.']],
    ['Is it so? Yes! Good.', ['Is it so?', 'Yes!', 'Good.']],
    ['Code begins one. `poll` returns.', ['Code begins one.', '`poll` returns.']],
    ['A quote "ends." Then more.', ['A quote "ends."', 'Then more.']],
    ['Without a full stop', ['Without a full stop']],
  ])('splits %s', (paragraph, sentences) => {
    expect(splitSentences(paragraph)).toEqual(sentences);
  });

  it.each([
    'Kafka 4.1 and kafkajs 2.2.4 are supported.',
    'A retry topic, e.g. Orders, is created.',
    'The file index.ts is a barrel.',
    'The first case: a record fails; the second: a commit fails.',
    '**Precedence.** The last source wins.',
  ])('keeps as one sentence: %s', (paragraph) => {
    expect(splitSentences(paragraph)).toEqual([paragraph]);
  });

  it('returns nothing for an empty paragraph', () => {
    expect(splitSentences('')).toEqual([]);
  });
});

describe('findTitles', () => {
  const titlesOf = (...text: string[]): string[] =>
    findTitles({ path: 'a.spec.ts', text: lines(...text) }).map(({ title }) => title);

  it.each([
    ["it('commits', () => {});", 'commits'],
    ["test('commits', () => {});", 'commits'],
    ["it.failing('commits', () => {});", 'commits'],
    ["it.each(rows)('commits %s', () => {});", 'commits %s'],
    ["it.skip.each(rows)('commits %s', () => {});", 'commits %s'],
    ["it.each`a | b\n${1} | ${2}`('commits $a', () => {});", 'commits $a'],
    ['it(`commits`, () => {});', 'commits'],
    ['it(`commits ${name} once`, () => {});', 'commits ${…} once'],
    ["it('commits ' + 'twice', () => {});", 'commits twice'],
  ])('finds the title of %s', (text, title) => {
    expect(titlesOf(text)).toEqual([title]);
  });

  it.each([
    'it(name, () => {});',
    "test.runtime.advance('1s');",
    "test('1').settle('2').then('3');",
    "write('it', 'commits');",
  ])('finds no titles in calls of other functions: %s', (text) => {
    expect(titlesOf(text)).toEqual(text.startsWith("test('1')") ? ['1'] : []);
  });

  it('names the line and the titles around a test', () => {
    const text = lines(
      "describe('OffsetTracker', () => {",
      "  describe.each(modes)('in mode %s', () => {",
      "    it('commits', () => {});",
      '  });',
      '});',
      "it('ends', () => {});",
    );
    expect(findTitles({ path: 'a.spec.ts', text })).toEqual([
      { path: 'a.spec.ts', line: 3, title: 'commits', chain: ['OffsetTracker', 'in mode %s'] },
      { path: 'a.spec.ts', line: 6, title: 'ends', chain: [] },
    ]);
  });
});

describe('findTitles in a file of contract cases', () => {
  const casesOf = (...text: string[]) =>
    findTitles({ path: 'a.contract.ts', text: lines(...text) }).map(({ title, chain }) => [
      ...chain,
      title,
    ]);

  it('finds a case by a title and an async function as arguments, whatever the called function is named', () => {
    expect(
      casesOf(
        "suite.section('Pausing', () => {",
        "  testCase('keeps offsets', async (context) => {});",
        "  requiring('unplug')('survives an outage', async (context) => {});",
        '});',
        "suite.testCase('closes', async () => {});",
      ),
    ).toEqual([['Pausing', 'keeps offsets'], ['Pausing', 'survives an outage'], ['closes']]);
  });

  it('does not take a call inside a case for another case', () => {
    expect(
      casesOf("const run = each('a', (name) => name);", "context.write('a');", "f('a', g);"),
    ).toEqual([]);
  });
});

describe('findComments', () => {
  const commentsOf = (...text: string[]) =>
    findComments({ path: 'a.ts', text: lines(...text) }).map(({ line, lastLine, text: words }) => [
      line,
      lastLine,
      words,
    ]);

  it('joins consecutive lines with slashes, and no others', () => {
    expect(
      commentsOf('// One', '// goes on.', '', '// Two.', 'f(); // Three.', '// Four.', 'g();'),
    ).toEqual([
      [1, 2, 'One\ngoes on.'],
      [4, 4, 'Two.'],
      [5, 5, 'Three.'],
      [6, 6, 'Four.'],
    ]);
  });

  it('removes the stars of a block comment', () => {
    expect(commentsOf('/**', ' * Commits', ' * once.', ' */', 'class A {}')).toEqual([
      [1, 4, 'Commits\nonce.'],
    ]);
  });

  it('finds a comment at the end of a code block and at the end of a file', () => {
    expect(commentsOf('class A {', '  // Empty.', '}', '// The end.')).toEqual([
      [2, 2, 'Empty.'],
      [4, 4, 'The end.'],
    ]);
  });

  it.each([
    "const address = 'http://localhost';",
    'const address = `http://${host}// ${port}//`;',
    'const pattern = /\\/\\/ no comment/;',
    '// eslint-disable-next-line no-console',
    '// @ts-expect-error not exported',
    '/* oxlint-disable no-empty */',
    '// prettier-ignore',
    '/// <reference types="node" />',
    '/* Copyright the authors */',
  ])('finds no comment in %s', (text) => {
    expect(commentsOf(text)).toEqual([]);
  });
});

describe('readMarkdown', () => {
  const text = lines(
    '# A title of a chapter',
    '',
    'A paragraph with [a link](https://example.org) goes',
    'on here.',
    '',
    '| a | table |',
    '|---|---|',
    '',
    '- An item goes',
    '  on here.',
    '- Another item.',
    '',
    '```ts',
    'const code = 1;',
    '',
    '# no title',
    '```',
    'The last paragraph.',
  );

  it('leaves out titles, tables and code, and returns each list item as its own paragraph', () => {
    expect(readMarkdown(text)).toEqual({
      paragraphs: ['A paragraph with a link goes on here.', 'The last paragraph.'],
      listItems: ['An item goes on here.', 'Another item.'],
    });
  });

  it('keeps all lines outside code blocks with withoutCodeBlocks()', () => {
    expect(withoutCodeBlocks(text)).not.toContain('code');
    expect(withoutCodeBlocks(text)).toContain('| a | table |');
  });
});

describe('the statistics of readability', () => {
  it('are values of the list: median, percentile and maximum', () => {
    const values = [5, 1, 4, 2, 3, 6, 7, 8, 9, 10];
    expect([median(values), percentile(values, 0.9), maximum(values)]).toEqual([5, 9, 10]);
    expect([median([]), maximum([])]).toEqual([0, 0]);
  });

  it('state a share in percent with one decimal', () => {
    expect(percentOf([1, 2, 3], (value) => value === 1)).toBe(33.3);
    expect(percentOf([], () => true)).toBe(0);
  });

  it('count each token with a letter or a digit as a word', () => {
    expect(countWords('A record — once — has 2 `offsets`.')).toBe(6);
  });
});

describe('draw', () => {
  const values = Array.from({ length: 100 }, (_, index) => index);

  it('draws the same values for the same seed, and other values for another seed', () => {
    expect(draw(values, 10, 7)).toEqual(draw(values, 10, 7));
    expect(draw(values, 10, 7)).not.toEqual(draw(values, 10, 8));
  });

  it('draws no value twice, and at most as many as the list has', () => {
    expect(draw(values, 1_000, 1).sort((left, right) => left - right)).toEqual(values);
  });
});

describe('findBrokenLimits', () => {
  const source = (name: string, text = '') => ({ path: `libs/core/src/config/${name}.ts`, text });
  const reportOf = ({
    sources = [source('a')],
    tests = [] as { path: string; text: string }[],
    documents = [] as { path: string; text: string }[],
  }) =>
    createStaticReport({
      sources: new Map([['core', sources]]),
      tests: tests.map((test) => ({ ...test, owner: 'core', kind: 'unit' as const })),
      documents,
    });

  it('accepts a tree that keeps all limits', () => {
    const sources = [source('a', '// The offset is stored first.\nconst a = 1;\n')];
    const tests = [{ path: 'a.spec.ts', text: "it('commits once', () => {});" }];
    const documents = [{ path: 'docs/guides/start.md', text: 'Install the package.' }];
    expect(findBrokenLimits(reportOf({ sources, tests, documents }))).toEqual([]);
  });

  it.each([
    ['comments', { sources: [source('a', '// What it waits for.\n')] }],
    ['test titles', { tests: [{ path: 'a.spec.ts', text: "it('of nobody', () => {});" }] }],
    ['sentence', { documents: [{ path: 'README.md', text: `${'word '.repeat(19)}.` }] }],
    ['files', { sources: Array.from({ length: 21 }, (_, index) => source(`a${index}`)) }],
    ['words', { documents: [{ path: 'docs/guides/start.md', text: 'Yes. '.repeat(801) }] }],
    ['words', { documents: [{ path: 'ARCHITECTURE.md', text: 'Yes. '.repeat(1_501) }] }],
  ])('reports that %s exceed a limit', (word, tree) => {
    expect(findBrokenLimits(reportOf(tree))).toEqual([expect.stringContaining(word)]);
  });

  it('has no limit for the number of specs in a folder', () => {
    const tests = Array.from({ length: limits.filesPerFolder + 1 }, (_, index) => ({
      path: `libs/core/src/config/a${index}.spec.ts`,
      text: '',
    }));
    expect(findBrokenLimits(reportOf({ tests }))).toEqual([]);
  });
});

describe('formatFunctions', () => {
  it('lists functions by file, with their number of calls', () => {
    const functions = [
      { owner: 'core', file: 'b.ts', name: 'commit', calls: 2 },
      { owner: 'core', file: 'a.ts', name: '', calls: 10 },
      { owner: 'core', file: 'b.ts', name: 'get offset', calls: 1 },
    ];
    expect(formatFunctions(functions)).toBe(
      lines(
        'a.ts: 1',
        '     10  (anonymous)',
        '',
        'b.ts: 2',
        '      2  commit',
        '      1  get offset',
      ),
    );
  });
});

describe('readArguments', () => {
  it.each([
    [[], { command: 'report', withRun: true }],
    [['--static'], { command: 'report', withRun: false }],
    [['--skip-run', '--json', 'a.json'], { command: 'report', withRun: false, jsonFile: 'a.json' }],
    [['--check'], { command: 'check' }],
    [['--list=sentences'], { command: 'list', subject: 'sentences' }],
    [['--functions', 'record'], { command: 'functions', job: 'record' }],
    [
      ['--sample', 'titles', '--seed', '7', '--count', '3'],
      { command: 'sample', subject: 'titles', seed: 7, count: 3 },
    ],
  ])('accepts the arguments %j', (words, request) => {
    expect(readArguments(words)).toEqual(request);
  });

  it.each([
    [['--jason']],
    [['--json']],
    [['--functions', 'all']],
    [['--sample', 'all']],
    [['--seed', 'x']],
  ])('returns the usage for the arguments %j', (words) => {
    expect(readArguments(words)).toMatchObject({
      command: 'usage',
      message: expect.stringContaining('usage: npm run readability'),
    });
  });
});
