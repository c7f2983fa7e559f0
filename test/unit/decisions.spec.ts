import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pageAt } from './docs-pages.js';

const files = readdirSync(join(__dirname, '../../docs/decisions'))
  .filter((name) => /^\d{4}-/.test(name))
  .sort();
const numberOf = (file: string): number => Number(file.slice(0, 4));
const index = pageAt('docs/decisions/README.md').text;

describe('The decisions', () => {
  it('have numbers of their own', () => {
    const numbers = files.map(numberOf);
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  });

  it.each(files)('begin with the number of their file: %s', (file) => {
    expect(pageAt(`docs/decisions/${file}`).text).toMatch(new RegExp(`^# ${numberOf(file)}\\. `));
  });

  it('are in the list once each, with their numbers', () => {
    const rows = [...index.matchAll(/^- \[(\d+)\. [^\]]+\]\((\d{4}-[^)]+\.md)\)$/gm)];
    expect(rows.map(([, , file = '']) => file).sort()).toEqual(files);
    for (const [, number, file = ''] of rows) expect(Number(number)).toBe(numberOf(file));
  });

  it('are listed by number in each part', () => {
    for (const part of index.split(/^## /m)) {
      const numbers = [...part.matchAll(/^- \[(\d+)\./gm)].map(([, number]) => Number(number));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  });
});
