import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(__dirname, '../..');
const SKIPPED = new Set(['node_modules', 'dist', '.git']);

const documents = documentsIn(root).map((path) => relative(root, path));

function documentsIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : documentsIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** The words of a heading, as GitHub makes an anchor of them. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));

function brokenLinks(path: string): readonly string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const links = [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)];
  return links
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(root, linked))) return true;
      if (anchor === undefined) return false;
      return !anchorsOf(readFileSync(join(root, linked), 'utf8')).has(anchor);
    });
}

describe('Links in the documents', () => {
  it('are found in every document', () => {
    expect(documents.length).toBeGreaterThan(5);
  });

  it.each(documents)('lead to a file and a heading that exist: %s', (path) => {
    expect(brokenLinks(path)).toEqual([]);
  });
});
