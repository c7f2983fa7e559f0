import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withAdaptedImports } from '../../tools/findings/adapted-imports.mjs';
import { readFindings } from '../../tools/findings/read-findings.mjs';

const root = join(__dirname, '../..');
const findings = readFindings(readFileSync(join(root, 'docs/findings.md'), 'utf8'));

describe('The page of findings', () => {
  it.each([...new Set(findings.map(({ spec }) => spec))])(
    'names a test that exists: %s',
    (spec) => {
      expect(existsSync(join(root, spec))).toBe(true);
    },
  );

  it('has only rows that the tool findings can read', () => {
    const page = readFileSync(join(root, 'docs/findings.md'), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| (?!point|---)/.test(line));
    expect(findings).toHaveLength(rows.length);
  });
});

describe('The tool findings', () => {
  const earlier = {
    has: (file: string) => file === 'libs/core/src/kept.ts',
    exportedNames: new Map([
      ['Moved', ['libs/broker/src/moved.ts', 'libs/core/src/old/moved.ts']],
      ['Other', ['libs/core/src/other.ts']],
    ]),
  };
  const adapted = (text: string): string =>
    withAdaptedImports('libs/core/src/lanes/a.spec.ts', text, earlier);

  it.each([
    [
      `import { Moved, Other as O } from '../new/moved.js';`,
      `import { Moved } from '../old/moved.js';\nimport { Other as O } from '../other.js';`,
    ],
    [`import { kept } from '../kept.js';`, `import { kept } from '../kept.js';`],
    [`import { Unknown } from '../new/x.js';`, `import { Unknown } from '../new/x.js';`],
    [`import { z } from 'zod';`, `import { z } from 'zod';`],
    [`import type { Moved } from '../new/moved.js';`, ''],
  ])('adapts %s', (text, expected) => {
    expect(adapted(text)).toBe(expected);
  });
});
