/** Parses a Java .properties file, with comments, `=` or `:`, continued lines and \uXXXX. */
export function parseProperties(text: string): Readonly<Record<string, string>> {
  const entries = logicalLines(text).map((line): [string, string] => {
    const [, key = line, value = ''] =
      /^((?:\\.|[^\\=:\s])*)\s*[=:]?\s*([\s\S]*)$/.exec(line) ?? [];
    return [unescaped(key), unescaped(value).trimEnd()];
  });
  return Object.fromEntries(entries);
}

function logicalLines(text: string): readonly string[] {
  const lines: string[] = [];
  let open = '';
  for (const physical of text.split(/\r\n|\r|\n/)) {
    const line = physical.trimStart();
    if (open === '' && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue;
    // An odd number of backslashes at the end: the last one continues the line.
    if ((/\\+$/.exec(line)?.[0].length ?? 0) % 2 === 1) {
      open += line.slice(0, -1);
      continue;
    }
    lines.push(open + line);
    open = '';
  }
  return open === '' ? lines : [...lines, open];
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code?: string, character = '') =>
    code === undefined
      ? (ESCAPES[character as string] ?? (character as string))
      : String.fromCodePoint(Number.parseInt(code, 16)),
  );
