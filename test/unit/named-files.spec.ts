import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pageAt } from './docs-pages';

const root = join(__dirname, '../..');

/** The folders that a path in a page may count from. */
const BASES = ['', 'libs/core/src', 'libs/broker/src'];

const namedFiles = (path: string): readonly string[] =>
  [...pageAt(path).text.matchAll(/`((?:[a-z0-9._-]+\/)+[a-z0-9._-]*)`/g)].map(
    ([, file = '']) => file,
  );

describe.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/reference/invariants.md'])(
  'The files that %s names',
  (page) => {
    it('exist', () => {
      const files = namedFiles(page);
      expect(files.length).toBeGreaterThan(5);
      const missing = files.filter((file) =>
        BASES.every((base) => !existsSync(join(root, base, file))),
      );
      expect(missing).toEqual([]);
    });
  },
);
