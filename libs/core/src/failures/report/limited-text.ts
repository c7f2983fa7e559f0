/** A prefix of the text that takes at most so many bytes as UTF-8. No character is cut in two; what is none becomes U+FFFD. */
export function limitedText(text: string, maxBytes: number): string {
  // No UTF-16 unit takes less than one byte: a text of megabytes is not encoded for its first few.
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  let end = Math.min(bytes.length, maxBytes);
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;
