import { ATTEMPT_BOUNDS } from '../model/measures/bucket-bounds.js';
import { Histogram, sumOfHistograms, type HistogramValues } from '../model/measures/histogram.js';
import type { BindingReading, ContainerReading } from './binding-reading.js';
import type { MetricDefinition } from './metric-definition.js';
import type { HistogramSample } from './metric-family.js';

/**
 * Catalogue of what is measured per record, per batch and per commit. `observability/metric-catalogue`
 * has the counters and gauges.
 */
export const MEASURE_CATALOGUE: readonly MetricDefinition[] = Object.freeze<MetricDefinition[]>([
  {
    name: 'eventbus.processing.duration',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time of a record from its hand-out to its outcome, with its retries in memory. A record of a batch counts with its share.',
    read: processingDurations,
  },
  {
    name: 'eventbus.end.to.end.duration',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time from the timestamp of a record in its first topic until it is done, retry tiers included.',
    read: perContainer(({ measures }) => measures?.endToEnd),
  },
  {
    name: 'eventbus.batch.size',
    type: 'histogram',
    help: 'Records in one call of a batch handler.',
    read: (binding) => (isBatch(binding) ? batchSizes(binding) : []),
  },
  {
    name: 'eventbus.retry.count',
    type: 'histogram',
    help: 'Handler calls that a record had over all tiers when it was done, by the tier in which it ended.',
    read: attempts,
  },
  {
    name: 'eventbus.commit.duration',
    type: 'histogram',
    unit: 'seconds',
    help: 'Time of an offset commit request until it is answered.',
    read: perContainer(({ measures }) => measures?.commits),
  },
  {
    name: 'eventbus.records.duplicates',
    type: 'counter',
    help: 'Records that did not reach their handler, because it had succeeded with them before.',
    read: ({ containers }) =>
      containers.map(({ labels, counts }) => ({ labels, value: counts.duplicates })),
  },
  {
    name: 'eventbus.rebalances',
    type: 'counter',
    help: 'Changes of the assignment of a session: assigned, revoked, or lost to another member.',
    read: ({ labels, registration: { counts } }) =>
      (counts?.rebalances ?? []).map((count) => ({
        labels: { ...labels, ...count.labels },
        value: count.value,
      })),
  },
  {
    name: 'eventbus.buffered.bytes',
    type: 'gauge',
    unit: 'bytes',
    help: 'Approximate memory of the records that were received and are not finished.',
    read: ({ containers }) =>
      containers.map(({ labels, bufferedBytes }) => ({ labels, value: bufferedBytes })),
  },
]);

const batchSizes = perContainer(({ measures }) => measures?.batches);

function isBatch({ registration }: BindingReading): boolean {
  return registration.config.listenerType === 'BATCH';
}

function perContainer(
  of: (container: ContainerReading) => HistogramValues | undefined,
): (binding: BindingReading) => readonly HistogramSample[] {
  return ({ containers }) =>
    containers.flatMap((container) => {
      const values = of(container);
      return values ? [{ labels: container.labels, ...values }] : [];
    });
}

function processingDurations({ containers, registration }: BindingReading) {
  const { listenerType } = registration.config;
  return containers.flatMap(({ labels, measures }) =>
    (measures?.processing ?? []).map(({ kind, values }) => ({
      labels: { ...labels, listenerType, outcome: kind },
      ...values,
    })),
  );
}

/**
 * Returns the calls of records that are done. Only records that had failed are counted one by one;
 * the others succeeded with their first call.
 */
function attempts({ containers, registration: { counts } }: BindingReading) {
  if (!counts) return [];
  return containers.map(({ labels, counts: { succeeded } }) => {
    const own = counts.attempts.filter((each) => each.tier === labels['tier']);
    const recovered = own.reduce((sum, each) => sum + each.recovered, 0);
    const first = new Histogram(ATTEMPT_BOUNDS);
    first.record(1, Math.max(0, succeeded - recovered));
    const values = sumOfHistograms([first.values, ...own.map((each) => each.values)]);
    return { labels, ...(values ?? first.values) };
  });
}
