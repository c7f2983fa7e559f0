import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const folder = 'docs/reference/requirements';
const pages = readdirSync(join(root, folder)).sort();

interface Row {
  readonly id: string;
  /** Undefined if the row says what is missing. */
  readonly spec: string | undefined;
  readonly text: string;
}

const linesOf = (page: string): readonly string[] =>
  readFileSync(join(root, folder, page), 'utf8')
    .split('\n')
    .filter((line) => /^\| S\d/.test(line));

/** Returns undefined for a line that is no row of the table. */
function rowOf(line: string): Row | undefined {
  const found = /^\| (S\d-[\w.-]+) \| [^|]+ \| (?:`([^`|]+)`|–) \| ([^|]+) \|$/.exec(line);
  return found ? { id: found[1] ?? '', spec: found[2], text: found[3] ?? '' } : undefined;
}

describe.each(pages)('The table of requirements %s', (page) => {
  const rows = linesOf(page).map(rowOf);

  it('has only rows with a test, or with what is missing', () => {
    expect(rows.length).toBeGreaterThan(10);
    expect(rows).not.toContain(undefined);
    const without = rows.filter((row) => row?.spec === undefined);
    for (const row of without) expect(row?.text).toMatch(/^not (met|shown)\b/);
  });

  it('names only tests that exist', () => {
    const missing = rows
      .flatMap((row) => (row?.spec === undefined ? [] : [{ spec: row.spec, title: row.text }]))
      .filter(({ spec, title }) => !hasTest(spec, title));
    expect(missing).toEqual([]);
  });
});

/** Whether the spec has a test of this title, which is a literal in its source. */
function hasTest(spec: string, title: string): boolean {
  const source = readFileSync(join(root, spec), 'utf8');
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
}
