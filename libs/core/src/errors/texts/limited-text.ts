/**
 * Returns a prefix of the text with at most `maxBytes` bytes of UTF-8. Never cuts a character in
 * two. A lone surrogate becomes U+FFFD.
 */
export function limitedText(text: string, maxBytes: number): string {
  // Each UTF-16 unit takes at least one byte, so `maxBytes` units are enough. Encoding all of a
  // long text would cost too much.
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  let end = Math.min(bytes.length, maxBytes);
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;
