import { ALL_METRICS } from '../../libs/core/src/observability/event-bus-metrics.js';
import { RESERVED_LABELS } from '../../libs/core/src/observability/reserved-labels.js';
import { pageAt } from './docs-pages.js';

const rows = [
  ...pageAt('docs/reference/metrics.md').text.matchAll(
    /^\| `((?:eventbus|kafka)\.[a-z.]+)` \| (\w+) \|([^|]*)\| (.*) \|$/gm,
  ),
];

describe('The metrics reference', () => {
  it('lists every metric with its type, and no unknown metric', () => {
    expect(rows.map(([, name, type]) => ({ name, type }))).toEqual(
      ALL_METRICS.map(({ name, type }) => ({ name, type })),
    );
  });

  it.each(rows)('describes the metric %s', (...row) => {
    expect(row[4]).not.toBe('');
  });

  it('names labels that an application cannot choose for itself', () => {
    const labels = rows.flatMap((row) => row[3]!.split(';')).flatMap(labelsIn);
    expect(new Set(labels).size).toBeGreaterThan(15);
    expect(labels.filter((label) => !RESERVED_LABELS.has(label))).toEqual([]);
  });
});

/** Labels stand before the colon, and their values behind it. */
function labelsIn(text: string): readonly string[] {
  return [...text.split(':')[0]!.matchAll(/`(\w+)`/gu)].map(([, label]) => label!);
}
