import { bareWords } from './bare-words.mjs';

const known = new Set(bareWords);

/**
 * Returns true if the first word of a text leaves open what the text is about. Code, a number or a
 * placeholder at the start names something, so it is not bare.
 * @param {string} text of a comment, without its slashes and stars, or of a title
 */
export function hasBareStart(text) {
  const [, word] = /^[\s([*-]*([A-Za-z]+)/.exec(text) ?? [];
  return word !== undefined && known.has(word.toLowerCase());
}
