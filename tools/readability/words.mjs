/**
 * Returns the words of a text: what is between blanks and has a letter or a digit.
 * @param {string} text
 * @returns {string[]}
 */
export const wordsOf = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));

/** @param {string} text */
export const countWords = (text) => wordsOf(text).length;
