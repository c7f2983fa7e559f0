import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pageAt } from './docs-pages.js';

const source = join(__dirname, '../../libs/core/src');
const page = pageAt('docs/reference/headers.md').text;

/** Header names in the sources: `'x-eventbus-…'`, `'kafka_dlt-…'` and the plain ones. */
function headersInSources(): readonly string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(event-bus-headers|spring-profile|plain-profile)\.ts$/.test(file),
  );
  expect(files).toHaveLength(3);
  return files.flatMap((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    return [...text.matchAll(/: ['`]([a-z_]+-[a-z0-9${}-]+)['`]/g)].map(([, name = '']) =>
      name.replace('${tier}', '<n>'),
    );
  });
}

describe('The header reference', () => {
  it('names every header that the bus writes', () => {
    const headers = headersInSources();
    expect(headers.length).toBeGreaterThan(40);
    expect(headers.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
