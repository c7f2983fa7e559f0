import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRIC_CATALOGUE } from '../../libs/core/src/observability/metric-catalogue.js';

const readme = readFileSync(join(__dirname, '../../libs/core/README.md'), 'utf8');
const rows = [...readme.matchAll(/^\| `(eventbus\.[a-z.]+)` \| (\w+) \|/gm)];

describe('the reference of the metrics', () => {
  it('has every one of them with its type, and no other', () => {
    expect(rows.map(([, name, type]) => ({ name, type }))).toEqual(
      METRIC_CATALOGUE.map(({ name, type }) => ({ name, type })),
    );
  });
});
