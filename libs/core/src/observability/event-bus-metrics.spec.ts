import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker, CircuitState } from '../model/states/circuit-breaker.js';
import type { PublishProblems } from '../model/outcomes/publish-problems.js';
import { binding, busWith, processor, tier } from '../containers/bus-test-bed.spec-support.js';
import { noDriver } from '../containers/fake-sessions.spec-support.js';
import type { PublishValues } from '../model/measures/publish-values.js';
import { EventBusMetrics } from './event-bus-metrics.js';
import { KafkaMetrics } from './kafka-metrics.js';
import type { MetricSample } from './metric-family.js';

interface Besides {
  readonly circuitBreaker?: CircuitBreaker;
  readonly publishProblems?: PublishProblems;
  readonly counts?: BindingCounts;
}

function worldOf(isEnabled = true) {
  const bus = busWith();
  const topics = new KafkaMetrics(bus.runtime);
  const publishes: PublishValues[] = [];
  const metrics = new EventBusMetrics({
    registry: bus.registry,
    shutdownGate: bus.shutdownGate,
    isEnabled: () => isEnabled,
    publishes: { values: publishes },
    topics,
    lags: () => [],
  });
  const samples = (name: string): readonly MetricSample[] => {
    const family = metrics.collect().find((each) => each.name === `eventbus.${name}`);
    if (family?.type === 'histogram' || !family) throw new Error(`No counter or gauge ${name}`);
    return family.samples;
  };
  const values = (name: string) => samples(name).map(({ value }) => value);
  const add = (resolved = binding(), besides: Besides = {}): void =>
    bus.registry.register(
      bus.factory.create(resolved, {
        driver: noDriver,
        processor,
        tierProcessor: () => processor,
        ...besides,
      }),
    );
  return { ...bus, metrics, topics, publishes, samples, values, add };
}

const circuit = (state: CircuitState): CircuitBreaker => ({
  state,
  since: 0,
  figures: { calls: 0, failures: 0, slow: 0 },
  waitDurationInOpenStateMs: 1,
  automaticPauseOnOpen: true,
  onTransition: () => () => undefined,
  reset: () => undefined,
});

const NOTHING: BindingCounts = {
  failures: [],
  retries: [],
  deadLetters: [],
  transitions: [],
  attempts: [],
  rebalances: [],
};
const MAIN = { binding: 'orders', cluster: 'default', topic: 'orders.events', tier: '0' };

describe('EventBusMetrics.collect()', () => {
  it('returns the metrics of a binding from its registration on, for its main container and every tier', () => {
    const { add, samples } = worldOf();
    add(binding('orders', { tiers: [tier(1), tier(2)] }));
    expect(samples('records.received')).toEqual([
      { labels: MAIN, value: 0 },
      { labels: { ...MAIN, topic: 'orders.events-retry-1', tier: '1' }, value: 0 },
      { labels: { ...MAIN, topic: 'orders.events-retry-2', tier: '2' }, value: 0 },
    ]);
  });

  it('adds up the counts of all sessions of a container', async () => {
    const { add, samples, values, lifecycle, sessions } = worldOf();
    add(binding('orders', { concurrency: 2 }));
    await lifecycle.start('orders');
    sessions.all.forEach((session) => {
      session.counts = {
        received: 28,
        succeeded: 1,
        discarded: 2,
        duplicates: 0,
        retried: 3,
        deadLettered: 4,
        failed: 5,
        handedBack: 6,
        inFlight: 7,
        slicesCut: 8,
        membershipsGivenUp: 11,
      };
      session.becomes({ runningHandlers: 9, stuckHandlers: 10 });
    });
    expect(values('records.received')).toEqual([56]);
    expect(samples('records.returned')).toEqual([
      { labels: { ...MAIN, outcome: 'failed' }, value: 10 },
      { labels: { ...MAIN, outcome: 'handed-back' }, value: 12 },
    ]);
    expect(values('records.in.flight')).toEqual([14]);
    expect(values('poll.interval.safety.triggered')).toEqual([16]);
    expect(values('memberships.given.up')).toEqual([22]);
    expect(values('handlers.running')).toEqual([18]);
    expect(values('handlers.stuck')).toEqual([20]);
  });

  it('returns the state of a container as 0 to 4', async () => {
    const { add, samples, values, lifecycle } = worldOf();
    add();
    expect(samples('container.state')).toEqual([
      { labels: { binding: 'orders', cluster: 'default' }, value: 0 },
    ]);
    await lifecycle.start('orders');
    expect(values('container.state')).toEqual([1]);
    await lifecycle.pause('orders');
    expect(values('container.state')).toEqual([2]);
    await lifecycle.stop('orders');
    expect(values('container.state')).toEqual([3]);
  });

  it('returns the reasons of pauses, of containers and of partitions', async () => {
    const { add, samples, lifecycle, sessions } = worldOf();
    add();
    await lifecycle.start('orders');
    await lifecycle.pause('orders');
    const topic = 'orders.events';
    sessions.get('eventbus-orders-0').becomes({
      partitionPauses: [
        { topic, partition: 0, reasons: ['backoff'] },
        { topic, partition: 1, reasons: ['backoff', 'backpressure'] },
      ],
    });
    expect(samples('container.paused')).toEqual([
      { labels: { ...MAIN, reason: 'operator' }, value: 1 },
    ]);
    expect(samples('partitions.paused')).toEqual([
      { labels: { ...MAIN, reason: 'backoff' }, value: 2 },
      { labels: { ...MAIN, reason: 'backpressure' }, value: 1 },
    ]);
    await lifecycle.resume('orders');
    expect(samples('container.paused')).toEqual([]);
  });

  it.each([
    ['CLOSED', 0],
    ['OPEN', 1],
    ['HALF_OPEN', 2],
  ] as const)(
    'returns a circuit that is %s as %i, and no metric without a circuit',
    (state, code) => {
      const { add, samples } = worldOf();
      add(binding('orders'), { circuitBreaker: circuit(state), counts: NOTHING });
      add(binding('payments'), { counts: NOTHING });
      const labels = { binding: 'orders', cluster: 'default' };
      expect(samples('circuit.state')).toEqual([{ labels, value: code }]);
      expect(samples('circuit.recovered')).toEqual([{ labels, value: 0 }]);
    },
  );

  it('labels the other counts with their binding', () => {
    const { add, samples } = worldOf();
    const place = { topic: 'orders.events', tier: '0' };
    const opened = { from: 'CLOSED', to: 'OPEN', cause: 'failure-rate' };
    const recovered = { from: 'HALF_OPEN', to: 'CLOSED', cause: 'recovered' };
    const reset = { from: 'OPEN', to: 'CLOSED', cause: 'reset' };
    add(binding(), {
      circuitBreaker: circuit('CLOSED'),
      counts: {
        ...NOTHING,
        failures: [{ labels: { ...place, exception: 'TypeError' }, value: 3 }],
        retries: [{ labels: { ...place, to: '1' }, value: 2 }],
        deadLetters: [{ labels: { ...place, reason: 'MANUAL', cause: 'operator' }, value: 1 }],
        transitions: [
          { labels: opened, value: 6 },
          { labels: recovered, value: 5 },
          { labels: reset, value: 1 },
        ],
      },
    });
    const labels = { binding: 'orders', cluster: 'default' };
    expect(samples('records.failed')).toEqual([
      { labels: { ...MAIN, exception: 'TypeError' }, value: 3 },
    ]);
    expect(samples('records.retried')).toEqual([{ labels: { ...MAIN, to: '1' }, value: 2 }]);
    expect(samples('records.dlq')).toEqual([
      { labels: { ...MAIN, reason: 'MANUAL', cause: 'operator' }, value: 1 },
    ]);
    expect(samples('circuit.transitions')).toEqual([
      { labels: { ...labels, ...opened }, value: 6 },
      { labels: { ...labels, ...recovered }, value: 5 },
      { labels: { ...labels, ...reset }, value: 1 },
    ]);
    expect(samples('circuit.recovered')).toEqual([{ labels, value: 5 }]);
  });

  it('names the topics whose last write failed', () => {
    const { add, samples } = worldOf();
    const problem = { topic: 'orders.DLT', error: new Error('gone'), since: 0, lastSeen: 0 };
    add(binding(), {
      publishProblems: { all: [problem], onChange: () => () => undefined, clear: () => undefined },
    });
    expect(samples('publish.troubles')).toEqual([
      { labels: { binding: 'orders', cluster: 'default', topic: 'orders.DLT' }, value: 1 },
    ]);
  });

  it('drops the metrics of a destroyed binding and keeps those of the others', async () => {
    const { add, metrics, lifecycle, connector } = worldOf();
    add(binding('orders'));
    add(binding('payments'));
    await lifecycle.start('orders');
    await connector.unregister('orders');
    const labels = metrics.collect().flatMap(({ samples }) => samples.map((one) => one.labels));
    const named = (key: string) => new Set(labels.flatMap((each) => each[key] ?? []));
    expect(named('binding')).toEqual(new Set(['payments']));
    expect(named('topic')).toEqual(new Set(['payments.events']));
  });

  it('starts the metrics of a re-registered binding at zero, without duplicates', async () => {
    const { add, samples, lifecycle, connector, sessions } = worldOf();
    add();
    await lifecycle.start('orders');
    const session = sessions.get('eventbus-orders-0');
    session.counts = { ...session.counts, received: 5, succeeded: 5 };
    await connector.unregister('orders');
    add();
    expect(samples('records.received')).toEqual([{ labels: MAIN, value: 0 }]);
  });

  it('distinguishes two bindings of the same name on two clusters, and never repeats labels', () => {
    const { add, metrics } = worldOf();
    for (const cluster of ['eu', 'us'])
      add(binding('orders', { cluster, tiers: [tier(1)] }), {
        circuitBreaker: circuit('OPEN'),
        counts: NOTHING,
      });
    for (const { samples } of metrics.collect()) {
      const labels = samples.map((one) => JSON.stringify(one.labels));
      expect(new Set(labels).size).toBe(labels.length);
    }
  });

  it('returns unique names with dots, each with its type and its help text', () => {
    const families = worldOf().metrics.collect();
    expect(new Set(families.map(({ name }) => name)).size).toBe(families.length);
    for (const { name, type, help } of families) {
      expect(name).toMatch(/^(eventbus|kafka)(\.[a-z]+)+$/);
      expect(['counter', 'gauge', 'histogram']).toContain(type);
      expect(help).toMatch(/\.$/);
    }
  });

  it('returns no metric if metrics are disabled', () => {
    const { add, metrics } = worldOf(false);
    add();
    expect(metrics.collect()).toEqual([]);
  });
});
