/** Abbreviations whose full stop does not end a sentence. */
const abbreviation = /(?:^|[\s(])(?:e\.g|i\.e|cf|vs|approx|No|Nr|Fig|St)\.$/;

/**
 * The end of a sentence, with the quote or bracket that closes there. A star is missing on purpose: a bold
 * lead-in, such as "**Precedence.** The last source wins.", belongs to the sentence behind it.
 */
const ending = /[.!?…]["'”’)\]_]*\s+(?=["'“‘([*_`]*[\p{Lu}\p{N}`])/gu;

/**
 * Splits a paragraph into its sentences. A full stop ends one only if a blank and then a capital, a digit or
 * code follow, so that versions, file names and "e.g." do not.
 * @param {string} paragraph
 * @returns {string[]}
 */
export function splitSentences(paragraph) {
  const sentences = [];
  let from = 0;
  for (const { 0: match, index } of paragraph.matchAll(ending)) {
    const end = index + match.length;
    if (abbreviation.test(paragraph.slice(from, index + 1))) continue;
    sentences.push(paragraph.slice(from, end).trim());
    from = end;
  }
  sentences.push(paragraph.slice(from).trim());
  return sentences.filter((sentence) => sentence !== '');
}
