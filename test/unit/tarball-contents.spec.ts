import { missingFromTarball } from '../../tools/tarball-contents.mjs';

const manifest = {
  bin: { eventbus: './dist/esm/cli/eventbus.js' },
  main: './dist/cjs/index.js',
  types: './dist/cjs/index.d.ts',
  exports: { '.': { default: { default: './dist/esm/index.js' } } },
  typesVersions: { '*': { memory: ['./dist/cjs/memory/index.d.ts'] } },
};

const complete = [
  'LICENSE',
  'README.md',
  'package.json',
  'dist/cjs/package.json',
  'dist/cjs/index.js',
  'dist/cjs/index.d.ts',
  'dist/cjs/memory/index.d.ts',
  'dist/esm/index.js',
  'dist/esm/cli/eventbus.js',
];

describe('The tarball of a package', () => {
  it('is accepted if it contains all files that package.json names', () => {
    expect(missingFromTarball(manifest, complete)).toEqual([]);
  });

  it.each(complete.filter((file) => file !== 'package.json'))('is refused without %s', (file) => {
    const files = complete.filter((other) => other !== file);
    expect(missingFromTarball(manifest, files)).toEqual([`${file} is missing`]);
  });

  it.each(['src/a.spec.ts', 'src/a.spec-support.ts', 'dist/esm.tsbuildinfo'])(
    'is refused if it contains %s',
    (file) => {
      expect(missingFromTarball(manifest, [...complete, file])).toEqual([
        `${file} has no place in it`,
      ]);
    },
  );
});
