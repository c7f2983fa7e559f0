/** @typedef {{ section: string, point: string, spec: string, test: string }} Finding */

/**
 * Reads the rows of docs/findings.md.
 * @param {string} page
 * @returns {readonly Finding[]}
 */
export function readFindings(page) {
  /** @type {Finding[]} */
  const findings = [];
  let section = '';
  for (const line of page.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    const [, point, spec, test] = /^\| (.+?) \| `([^`]+)` \| (.+) \|$/.exec(line) ?? [];
    if (!point || !spec || !test) continue;
    findings.push({ section, point, spec, test: test.replaceAll('\\|', '|').replaceAll('`', '') });
  }
  return findings;
}
