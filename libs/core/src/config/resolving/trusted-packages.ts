/** Checks a type id: `com.shop` trusts that package, `com.shop.*` it and its subpackages, `*` everything. */
export function isTrusted(packages: readonly string[], id: string): boolean {
  return packages.some((trusted) => isIn(trusted, id));
}

function isIn(trusted: string, id: string): boolean {
  if (trusted === '*') return true;
  if (trusted.endsWith('.*')) return id.startsWith(trusted.slice(0, -1));
  return id.slice(0, Math.max(id.lastIndexOf('.'), 0)) === trusted;
}
