import type { BindingCounts, LabelledCount } from '../model/states/binding-counts.js';
import { CIRCUIT_STATE_CODES } from '../model/states/circuit-breaker.js';
import { CONTAINER_STATE_CODES } from '../model/states/container-state.js';
import type { BindingReading, ContainerReading } from './binding-reading.js';
import type { MetricDefinition } from './metric-definition.js';
import type { MetricSample } from './metric-family.js';

type Read = (binding: BindingReading) => readonly MetricSample[];

/**
 * Catalogue of the metrics: names and kinds. Their names must never change, because dashboards and
 * alerts depend on them. Labels of a binding and of a container come from `binding-reading.ts`,
 * those of `perLabel` from `binding-counters.ts`.
 */
export const METRIC_CATALOGUE: readonly MetricDefinition[] = Object.freeze<MetricDefinition[]>([
  {
    name: 'eventbus.records.received',
    type: 'counter',
    help: 'Records received from the broker. A redelivered record counts again.',
    read: perContainer(({ counts }) => counts.received),
  },
  {
    name: 'eventbus.records.processed',
    type: 'counter',
    help: 'Records completed by this container, by partition and outcome.',
    read: processedByPartition,
  },
  {
    name: 'eventbus.records.returned',
    type: 'counter',
    help: 'Records left uncommitted and redelivered, because they failed or were handed back unhandled.',
    read: byOutcome(({ counts }) => ({ failed: counts.failed, 'handed-back': counts.handedBack })),
  },
  {
    name: 'eventbus.records.in.flight',
    type: 'gauge',
    help: 'Records received that have no outcome yet.',
    read: perContainer(({ counts }) => counts.inFlight),
  },
  {
    name: 'eventbus.records.failed',
    type: 'counter',
    help: 'Failed deliveries by error class, whatever happened to the record then.',
    read: perLabel(({ failures }) => failures),
  },
  {
    name: 'eventbus.records.retried',
    type: 'counter',
    help: 'Records written to a retry topic and acknowledged, by target tier.',
    read: perLabel(({ retries }) => retries),
  },
  {
    name: 'eventbus.records.dlq',
    type: 'counter',
    help: 'Records written to the dead-letter topic and acknowledged, by reason and cause.',
    read: perLabel(({ deadLetters }) => deadLetters),
  },
  {
    name: 'eventbus.container.state',
    type: 'gauge',
    help: 'State of the binding: 0 CREATED, 1 RUNNING, 2 PAUSED, 3 STOPPED, 4 DESTROYED.',
    read: ({ labels, registration: { state } }) => [
      { labels, value: CONTAINER_STATE_CODES[state] },
    ],
  },
  {
    name: 'eventbus.container.paused',
    type: 'gauge',
    help: '1 for each reason that pauses the whole container.',
    read: ({ containers }) =>
      containers.flatMap(({ labels, status }) =>
        status.pauses.map((reason) => ({ labels: { ...labels, reason }, value: 1 })),
      ),
  },
  {
    name: 'eventbus.partitions.paused',
    type: 'gauge',
    help: 'Partitions that are paused, or have paused records, by reason. A partition with two reasons counts for both.',
    read: ({ containers }) => containers.flatMap(pausedPartitions),
  },
  {
    name: 'eventbus.handlers.running',
    type: 'gauge',
    help: 'Records that handlers are processing. A slice counts with all its records.',
    read: perContainer(({ status }) => status.runningHandlers),
  },
  {
    name: 'eventbus.handlers.stuck',
    type: 'gauge',
    help: 'Handlers that have been running for longer than stuckHandlerMs.',
    read: perContainer(({ status }) => status.stuckHandlers),
  },
  {
    name: 'eventbus.circuit.state',
    type: 'gauge',
    help: 'Circuit breaker of the binding: 0 closed, 1 open, 2 half open.',
    read: ({ labels, registration: { circuitBreaker } }) =>
      circuitBreaker.current
        ? [{ labels, value: CIRCUIT_STATE_CODES[circuitBreaker.current.state] }]
        : [],
  },
  {
    name: 'eventbus.circuit.transitions',
    type: 'counter',
    help: 'State changes of the circuit breaker, by cause.',
    read: perLabel(({ transitions }) => transitions),
  },
  {
    name: 'eventbus.circuit.recovered',
    type: 'counter',
    help: 'Times that successful trial calls closed the circuit again.',
    read: recoveries,
  },
  {
    name: 'eventbus.publish.troubles',
    type: 'gauge',
    help: '1 for each retry or dead-letter topic whose last write failed.',
    read: ({ labels, registration: { publishProblems } }) =>
      (publishProblems?.all ?? []).map(({ topic }) => ({ labels: { ...labels, topic }, value: 1 })),
  },
  {
    name: 'eventbus.poll.interval.safety.triggered',
    type: 'counter',
    help: 'Slices that were cut short because they had taken 70 % of maxPollIntervalMs.',
    read: perContainer(({ counts }) => counts.slicesCut),
  },
  {
    name: 'eventbus.memberships.given.up',
    type: 'counter',
    help: 'Times that a session left its group because a handler exceeded maxPollIntervalMs.',
    read: perContainer(({ counts }) => counts.membershipsGivenUp),
  },
]);

/** The outcomes with which a record is done in its topic. */
const COMPLETED = ['succeeded', 'discarded', 'retried', 'dead-lettered'] as const;

function perContainer(value: (container: ContainerReading) => number): Read {
  return ({ containers }) =>
    containers.map((container) => ({ labels: container.labels, value: value(container) }));
}

function processedByPartition({ containers }: BindingReading): readonly MetricSample[] {
  return containers.flatMap(({ labels, partitions }) =>
    partitions.flatMap(({ partition, outcomes }) =>
      COMPLETED.map((outcome) => ({
        labels: { ...labels, partition: String(partition), outcome },
        value: outcomes[outcome],
      })),
    ),
  );
}

function byOutcome(
  values: (container: ContainerReading) => Readonly<Record<string, number>>,
): Read {
  return ({ containers }) =>
    containers.flatMap((container) =>
      Object.entries(values(container)).map(([outcome, value]) => ({
        labels: { ...container.labels, outcome },
        value,
      })),
    );
}

function perLabel(of: (counts: BindingCounts) => readonly LabelledCount[]): Read {
  return ({ labels, registration: { counts } }) =>
    (counts ? of(counts) : []).map((count) => ({
      labels: { ...labels, ...count.labels },
      value: count.value,
    }));
}

function recoveries({ labels, registration: { circuitBreaker, counts } }: BindingReading) {
  if (!circuitBreaker.current || !counts) return [];
  const value = counts.transitions
    .filter(({ labels: { cause } }) => cause === 'recovered')
    .reduce((sum, transition) => sum + transition.value, 0);
  return [{ labels, value }];
}

function pausedPartitions({ labels, status }: ContainerReading): readonly MetricSample[] {
  const reasons = status.partitionPauses.flatMap((pause) => pause.reasons);
  return [...new Set(reasons)].map((reason) => ({
    labels: { ...labels, reason },
    value: reasons.filter((each) => each === reason).length,
  }));
}
