import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const MANIFESTS = [
  'package.json',
  'libs/broker/package.json',
  'libs/core/package.json',
  'libs/testing/package.json',
  'libs/messaging/package.json',
  'libs/outbox/package.json',
  'libs/outbox-sql/package.json',
  'libs/outbox-nest/package.json',
  'apps/orders/package.json',
  'apps/outbox-plain/package.json',
  'apps/outbox-rest/package.json',
  'apps/outbox-two-databases/package.json',
  'examples/package.json',
  'test/bench/package.json',
  'test/pack/apps/nest11/package.json',
  'test/pack/apps/nest12/package.json',
  'test/pack/apps/plain/package.json',
  'test/pack/apps/without-terminus/package.json',
];
const KINDS = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
] as const;
type Manifest = Partial<Record<(typeof KINDS)[number], Readonly<Record<string, string>>>>;

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Packages in the first column of a table. */
const listed = new Set(
  [...read('docs/reference/dependencies.md').matchAll(/^\| (`[^|]+) \|/gm)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.replaceAll(/[`* ]/g, '')),
);

const used = new Map<string, string>();
for (const path of MANIFESTS) {
  const manifest = JSON.parse(read(path)) as Manifest;
  for (const name of KINDS.flatMap((kind) => Object.keys(manifest[kind] ?? {})))
    if (!name.startsWith('@nest-event-bus/')) used.set(name, path);
}

describe('The table of dependencies', () => {
  it.each([...used])('has a row for %s of %s', (name) => {
    expect(listed).toContain(name);
  });

  it('has no row for a package that nothing uses', () => {
    expect([...listed].filter((name) => !used.has(name))).toEqual([]);
  });
});
