/**
 * Reads the text of a Markdown document, one string per paragraph. Code blocks, tables, headings
 * and HTML are left out. Links are replaced by their text.
 * @param {string} markdown
 * @returns {{ paragraphs: string[], listItems: string[] }}
 */
export function readMarkdown(markdown) {
  /** @type {{ text: string, isListItem: boolean }[]} */
  const blocks = [];
  /** @type {{ text: string, isListItem: boolean } | undefined} */
  let open;
  for (const line of withoutCodeBlocks(markdown).split('\n')) {
    const isListItem = LIST_MARK.test(line);
    if (line.trim() === '' || NO_PROSE.test(line)) open = undefined;
    else if (open && !isListItem) open.text += ` ${line.trim()}`;
    else blocks.push((open = { text: line.replace(LIST_MARK, '').trim(), isListItem }));
  }
  /** @param {boolean} isListItem */
  const textsOf = (isListItem) =>
    blocks.filter((block) => block.isListItem === isListItem).map(({ text }) => withoutMarks(text));
  return { paragraphs: textsOf(false), listItems: textsOf(true) };
}

/** @param {string} markdown */
export const withoutCodeBlocks = (markdown) =>
  markdown.replaceAll(/^([ \t]*)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^[ \t]*\2[ \t]*$/gm, '');

const LIST_MARK = /^\s*(?:[-*+]|\d+[.)])\s+/;
/**
 * Matches lines that are no prose: a heading, a table row, an HTML tag, a rule, or the target of a
 * link.
 */
const NO_PROSE = /^\s*(?:#{1,6}\s|\||<[!/a-z]|={3,}\s*$|-{3,}\s*$|\[[^\]]+\]:\s)/i;

/** @param {string} text */
const withoutMarks = (text) =>
  text
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^>\s?/, '');
