import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = join(__dirname, '../..');

/** A page of the documentation: a guide, a reference page or a README. */
export interface Page {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

const namesIn = (folder: string): readonly string[] => readdirSync(join(root, folder)).sort();

const pagesIn = (folder: string): readonly string[] =>
  namesIn(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

export const PAGES: readonly Page[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...namesIn('libs').map((name) => `libs/${name}/README.md`),
  'examples/README.md',
  'test/bench/README.md',
  'test/chaos/README.md',
  ...pagesIn('docs/decisions'),
  ...pagesIn('docs/guides'),
  ...pagesIn('docs/reference'),
].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** Returns one page by its path from the root of the repository. */
export function pageAt(path: string): Page {
  const found = PAGES.find((page) => page.path === path);
  if (!found) throw new Error(`There is no page ${path}.`);
  return found;
}

/** A code block of a page in TypeScript. */
export interface Example {
  readonly name: string;
  readonly code: string;
  /** `run`: needs no broker and ends. `alone`: augments a module, so it is compiled by itself. */
  readonly mode: 'compile' | 'run' | 'alone';
}

export function examplesOf({ path, text }: Page): readonly Example[] {
  const blocks = text.matchAll(/^```ts(?: (run|alone))?\n(.*?)^```/gms);
  return [...blocks].map(([, mode = 'compile', code = ''], index) => ({
    name: `${path}, example ${index + 1}`,
    code,
    mode: mode as Example['mode'],
  }));
}

/** The languages of all code blocks: a block in TypeScript under another name would escape its check. */
export function fencesOf({ text }: Page): readonly string[] {
  const fences = [...text.matchAll(/^```(.*)$/gm)].map(([, info = '']) => info);
  return fences.filter((_, index) => index % 2 === 0);
}

/** Returns the links of a page that lead to no file or to no heading. */
export function brokenLinksOf(page: Page): readonly string[] {
  const links = [...withoutCode(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to);
  return links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(page, link));
}

function leadsSomewhere({ path, text }: Page, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? join(root, path) : resolve(root, dirname(path), file);
  if (!existsSync(target)) return false;
  if (anchor === undefined) return true;
  const linked = file === '' ? text : readFileSync(target, 'utf8');
  return headingsOf(linked).includes(anchor);
}

/** The anchors of the headings, as GitHub makes them. */
function headingsOf(text: string): readonly string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Counts the words outside of code blocks. */
export function wordsOf({ text }: Page): number {
  return words(withoutCode(text)).length;
}

/** The sentences of paragraphs, lists and headings. Rows of tables are no sentences. */
export function sentencesOf({ text }: Page): readonly string[] {
  return withoutCode(text)
    .split(/\n{2,}|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=#)/)
    .filter((block) => !block.trimStart().startsWith('|'))
    .map((block) =>
      block
        .replace(/^\s*(?:#+|[-*]|\d+\.)\s+/, '')
        .replaceAll(/`[^`]*`/g, 'Code')
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll('**', ''),
    )
    .flatMap((block) => block.split(/(?<=[.!?])\s+/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => words(sentence).length > 1);
}

export const wordCountOf = (sentence: string): number => words(sentence).length;

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}
