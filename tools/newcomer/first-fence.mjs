/**
 * Returns the first code of a language in a page.
 * @param {string} page
 * @param {string} language
 * @returns {string}
 */
export function firstFence(page, language) {
  const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  if (code === undefined) throw new Error(`The page has no code in ${language}.`);
  return code.trim();
}
