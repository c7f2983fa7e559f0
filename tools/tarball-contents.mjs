/**
 * Lists what is wrong with the contents of a package's tarball.
 * @param {{ bin?: unknown, exports: unknown, main: string, types: string, typesVersions?: unknown }} manifest
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function missingFromTarball(manifest, files) {
  const { bin, exports, main, types, typesVersions } = manifest;
  const promised = ['LICENSE', 'README.md', 'dist/cjs/package.json']
    .concat(paths([bin, exports, main, types, typesVersions]))
    .map((path) => path.replace(/^\.\//, ''));
  return [
    ...promised.filter((path) => !files.includes(path)).map((path) => `${path} is missing`),
    ...files
      .filter((path) => /\.spec(-support)?\.|\.tsbuildinfo$/.test(path))
      .map((path) => `${path} has no place in it`),
  ];
}

/**
 * Every path in a part of a package.json.
 * @param {unknown} value
 * @returns {string[]}
 */
function paths(value) {
  if (typeof value === 'string') return [value];
  return value && typeof value === 'object' ? Object.values(value).flatMap(paths) : [];
}
