const WORD = /[\p{L}\p{N}_]/u;

/**
 * Returns whether the message contains, as a whole word, a text or a number of the value, at any
 * depth.
 */
export function quotesPayload(message: string, value: unknown): boolean {
  for (const text of textsIn(value)) if (containsWord(message, text)) return true;
  return false;
}

/**
 * Yields all texts and numbers in the value. Uses a loop instead of recursion, because the sender
 * decides how deep the payload is.
 */
function* textsIn(value: unknown): Generator<string> {
  const waiting = [value];
  const seen = new Set<unknown>();
  for (const each of waiting) {
    if (typeof each === 'number' || typeof each === 'bigint') yield String(each);
    if (typeof each === 'string') {
      yield each;
      yield JSON.stringify(each).slice(1, -1);
    }
    if (typeof each !== 'object' || each === null || ArrayBuffer.isView(each) || seen.has(each))
      continue;
    seen.add(each);
    for (const part of Object.values(each)) waiting.push(part);
  }
}

function containsWord(message: string, text: string): boolean {
  if (text === '') return false;
  for (let at = message.indexOf(text); at !== -1; at = message.indexOf(text, at + 1)) {
    const around = [message[at - 1], message[at + text.length]];
    if (!around.some((letter) => letter !== undefined && WORD.test(letter))) return true;
  }
  return false;
}

export function partOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined;
}
