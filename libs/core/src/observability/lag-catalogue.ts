import { ALERT_LEVEL_CODES, type AlertState } from '../model/states/lag-alert.js';
import {
  LAG_STATUS_CODES,
  type BindingLag,
  type GroupLag,
  type PartitionLag,
} from '../model/states/lag.js';
import type { BusMetricDefinition, BusReading } from './metric-definition.js';
import type { MetricSample } from './metric-family.js';

/** Lag of a binding, as the last poll has found it. */
export interface LagReading {
  readonly lag: BindingLag;
  readonly alerts: readonly AlertState[];
}

/** Catalogue of the metrics of lag and of open dead letters. Their figures are those of the last poll. */
export const LAG_CATALOGUE: readonly BusMetricDefinition[] = Object.freeze<BusMetricDefinition[]>([
  {
    name: 'eventbus.consumer.lag',
    type: 'gauge',
    help: 'Records of a partition that were written and are not committed. Every process shows the whole group.',
    read: perPartition(({ records }) => records),
  },
  {
    name: 'eventbus.consumer.lag.seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'Age of the first unfinished record of a partition.',
    read: perPartition(({ seconds }) => seconds),
  },
  {
    name: 'eventbus.consumer.lag.status',
    type: 'gauge',
    help: 'Progress of a group in a topic: 0 OK, 1 WARNING, 2 STALLED, 3 REWIND, 4 PAUSED, 5 CIRCUIT_OPEN, 6 STOPPED, 7 UNKNOWN.',
    read: perGroup(({ status }) => LAG_STATUS_CODES[status]),
  },
  {
    name: 'eventbus.retry.tier.depth',
    type: 'gauge',
    help: 'Records of a retry topic that are not finished.',
    read: perTier(({ records }) => records),
  },
  {
    name: 'eventbus.retry.tier.oldest.seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'Age of the first unfinished record of a retry topic.',
    read: perTier(({ seconds }) => seconds),
  },
  {
    name: 'eventbus.dlt.depth',
    type: 'gauge',
    help: 'Dead letters that are open. An upper bound while a large topic is being read.',
    read: ofLetters(({ records }) => records),
  },
  {
    name: 'eventbus.dlt.oldest.seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'Age of the oldest open dead letter; 0 if there is none.',
    read: ofLetters(({ oldestSeconds, isExact }) => oldestSeconds ?? (isExact ? 0 : undefined)),
  },
  {
    name: 'eventbus.lag.alert.level',
    type: 'gauge',
    help: 'Level of an alert: 0 OK, 1 WARNING, 2 CRITICAL.',
    read: ({ lags }) =>
      lags.flatMap(({ lag, alerts }) =>
        alerts.map(({ of, topic, tier, measure, level }) => ({
          labels: { ...bindingOf(lag), of, topic, tier: String(tier), measure },
          value: ALERT_LEVEL_CODES[level],
        })),
      ),
  },
  {
    name: 'eventbus.lag.poll.failed',
    type: 'gauge',
    help: '1 if the last poll of the cluster failed, so that the figures of lag are old.',
    read: ({ lags }) =>
      lags.map(({ lag }) => ({
        labels: bindingOf(lag),
        value: lag.error === undefined ? 0 : 1,
      })),
  },
  {
    name: 'kafka.consumer.records.lag.max',
    type: 'gauge',
    help: 'Largest lag of a partition of the consumer group, in records.',
    read: largestByGroup,
  },
]);

type Labels = MetricSample['labels'];
type Read = (bus: BusReading) => readonly MetricSample[];

const bindingOf = ({ binding, cluster }: BindingLag): Labels => ({ binding, cluster });

/** A value that is not known has no sample. */
function sampleOf(labels: Labels, value: number | undefined): readonly MetricSample[] {
  return value === undefined ? [] : [{ labels, value }];
}

/** Returns the groups of a binding that were polled. */
function groupsOf({ main, tiers, at }: BindingLag): readonly GroupLag[] {
  return at === undefined ? [] : [main, ...tiers];
}

function groupLabels(lag: BindingLag, { topic, tier }: GroupLag): Labels {
  return { ...bindingOf(lag), topic, tier: String(tier) };
}

function perGroup(value: (group: GroupLag) => number | undefined): Read {
  return ({ lags }) =>
    lags.flatMap(({ lag }) =>
      groupsOf(lag).flatMap((group) => sampleOf(groupLabels(lag, group), value(group))),
    );
}

function perTier(value: (group: GroupLag) => number | undefined): Read {
  return perGroup((group) => (group.tier > 0 ? value(group) : undefined));
}

function perPartition(value: (partition: PartitionLag) => number | undefined): Read {
  return ({ lags }) =>
    lags.flatMap(({ lag }) =>
      groupsOf(lag).flatMap((group) =>
        group.partitions.flatMap((each) =>
          sampleOf({ ...groupLabels(lag, group), partition: String(each.partition) }, value(each)),
        ),
      ),
    );
}

function ofLetters(
  value: (letters: NonNullable<BindingLag['deadLetters']>) => number | undefined,
): Read {
  return ({ lags }) =>
    lags.flatMap(({ lag }) => {
      const { deadLetters } = lag;
      if (!deadLetters) return [];
      return sampleOf({ ...bindingOf(lag), topic: deadLetters.topic }, value(deadLetters));
    });
}

function largestByGroup({ lags }: BusReading): readonly MetricSample[] {
  const largest = new Map<string, number>();
  for (const { lag } of lags)
    for (const { groupId, partitions } of groupsOf(lag)) {
      const own = partitions.map(({ records }) => records);
      largest.set(groupId, Math.max(largest.get(groupId) ?? 0, ...own));
    }
  return [...largest].map(([group, value]) => ({ labels: { group }, value }));
}
