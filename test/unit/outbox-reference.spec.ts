import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { pageAt } from './docs-pages.js';

const libraries = join(__dirname, '../../libs');

/** Returns the properties of an interface in a source file. */
function propertiesOf(file: string, name: string): readonly string[] {
  const path = join(libraries, file);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .filter((statement) => statement.name.text === name)
    .flatMap(({ members }) => members.map((member) => (member.name as ts.Identifier).text));
}

/** Options of a leased relay that the module itself provides or has under its own options. */
const OF_THE_MODULE = new Set([
  ...propertiesOf('outbox-nest/src/outbox-options.ts', 'OutboxModuleOptions'),
  ...['connectionProvider', 'outboxStore', 'listenerRegistry', 'logger'],
]);

const options = pageAt('docs/reference/outbox-options.md').text;

/** Returns the names in the first column of the table below a heading. */
function listedBelow(heading: string): readonly string[] {
  const section = options.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
}

describe('The reference of outbox options', () => {
  it.each([
    ['`OutboxModule`', 'outbox-nest/src/outbox-options.ts', 'OutboxModuleOptions'],
    ['`leased`', 'outbox/src/leased/leased-options.ts', 'LeasedRelayOptions'],
    ['Store', 'outbox-sql/src/stores/abstract-sql-outbox-store.ts', 'SqlOutboxStoreOptions'],
    ['Health', 'outbox-nest/src/health/outbox-health.ts', 'OutboxHealthOptions'],
    ['Inbox', 'outbox-nest/src/inbox/inbox.ts', 'InboxOptions'],
    ['Purge', 'outbox-nest/src/outbox-options.ts', 'OutboxPurgeOptions'],
  ])('lists below %s every option, and no other', (heading, file, name) => {
    const properties = propertiesOf(file, name);
    const expected =
      name === 'LeasedRelayOptions'
        ? properties.filter((property) => !OF_THE_MODULE.has(property))
        : properties;
    expect(expected.length).toBeGreaterThan(2);
    expect([...listedBelow(heading)].sort()).toEqual([...expected].sort());
  });
});

describe('The reference of outbox metrics', () => {
  it('lists every metric that the exporter creates, and no other', () => {
    const exporter = readFileSync(
      join(libraries, 'outbox-nest/src/prometheus-metrics-exporter.ts'),
      'utf8',
    );
    const created = [...exporter.matchAll(/metric\(\s*'([a-z_]+)'/g)].map(([, name = '']) => name);
    const page = pageAt('docs/reference/metrics.md').text;
    const listed = [...page.matchAll(/^\| `outbox_([a-z_]+)` \|/gm)].map(([, name = '']) => name);
    expect(created.length).toBeGreaterThan(5);
    expect(listed.sort()).toEqual(created.sort());
  });
});
