import { bareWords } from './bare-words.mjs';

const known = new Set(bareWords);

/**
 * Decides by the first word. A text that starts with code, a number or a placeholder names something.
 * @param {string} text of a comment, without its slashes and stars, or of a title
 */
export function hasBareStart(text) {
  const [, word] = /^[\s([*-]*([A-Za-z]+)/.exec(text) ?? [];
  return word !== undefined && known.has(word.toLowerCase());
}
