import { ALL_METRICS } from '../../libs/core/src/observability/event-bus-metrics.js';
import { pageAt } from './docs-pages.js';

const rows = [
  ...pageAt('docs/reference/metrics.md').text.matchAll(
    /^\| `((?:eventbus|kafka)\.[a-z.]+)` \| (\w+) \|[^|]*\| (.*) \|$/gm,
  ),
];

describe('The metrics reference', () => {
  it('lists every metric with its type, and no unknown metric', () => {
    expect(rows.map(([, name, type]) => ({ name, type }))).toEqual(
      ALL_METRICS.map(({ name, type }) => ({ name, type })),
    );
  });

  it.each(rows)('describes the metric %s', (...row) => {
    expect(row[3]).not.toBe('');
  });
});
