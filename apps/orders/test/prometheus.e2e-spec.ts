import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DemoClient, type Book } from './support/demo-client.js';
import { DemoProcess, eventually, ROOT } from './support/demo-process.js';
import { prometheusProgram, PrometheusProcess } from './support/prometheus-process.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
}
interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { groups } = parse(read('deploy/prometheus-rules.yml')) as {
  groups: readonly { rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read('deploy/grafana/event-bus.json')) as { panels: Panel[] };

/** Metrics that have a sample only while something is wrong, and the demo is healthy here. */
const RIGHTLY_EMPTY = [
  // Has a sample for each topic that cannot be written to.
  /\beventbus_publish_troubles\b/,
  // Has a sample for each reason for which a container is paused.
  /\beventbus_container_paused\b/,
  // Has a sample for each reason for which partitions wait.
  /\beventbus_partitions_paused\b/,
];

/** Returns what a rule compares with its threshold: a healthy application never exceeds it. */
const measureOf = ({ expr }: Rule): string => expr.replaceAll(/ (==|>=|>) \d+(?=\)|$)/gu, '');

/** Chooses all bindings and clusters, as the dashboard does at first. */
const withAll = (expr: string): string => expr.replaceAll(/\$\w+/gu, '.*');

const program = prometheusProgram();
const describeWithPrometheus = program === undefined ? describe.skip : describe;

describeWithPrometheus('A Prometheus (package prometheus) that scrapes the demo', () => {
  let demo: DemoProcess;
  let prometheus: PrometheusProcess;

  beforeAll(async () => {
    demo = new DemoProcess({ ORDERS_PER_SECOND: '20' }, ['npm', 'start', '--silent']);
    const url = await demo.url();
    const client = new DemoClient(url);
    // A dead letter and its failure, so that their metrics have values.
    await client.post('/poison/notifications?count=3&kind=unreadable');
    await client.booksAre((books) =>
      Object.values(books).every(({ handled }: Book) => handled >= 20),
    );
    prometheus = await PrometheusProcess.start(program!, url);
  }, 360_000);
  afterAll(async () => {
    await prometheus?.end();
    await demo?.end();
  }, 240_000);

  const isRightlyEmpty = (query: string): boolean =>
    RIGHTLY_EMPTY.some((metric) => metric.test(query));

  async function expectData(query: string): Promise<void> {
    const values = isRightlyEmpty(query)
      ? await prometheus.valuesOf(query)
      : await eventually(
          () => prometheus.valuesOf(query),
          ({ length }) => length > 0,
        );
    expect(values.every((value) => Number.isFinite(Number(value)) || value === 'NaN')).toBe(true);
  }

  it('evaluates all shipped rules without an error', async () => {
    const loaded = await eventually(
      () => prometheus.rules(),
      (all) => all.length === rules.length && all.every(({ health }) => health !== 'unknown'),
    );
    expect(loaded.map(({ name, health }) => [name, health])).toEqual(
      rules.map(({ alert }) => [alert, 'ok']),
    );
  });

  it.each(rules)('has data for the rule $alert, if it is not rightly empty', (rule) =>
    expectData(measureOf(rule)),
  );

  it.each(panels)('has data for the panel $title, if it is not rightly empty', async (panel) => {
    for (const { expr } of panel.targets) await expectData(withAll(expr));
  });
});

describe('The metrics that are rightly empty', () => {
  it('are each asked for by a rule or a panel', () => {
    const queries = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
    const unused = RIGHTLY_EMPTY.filter((metric) => !queries.some((query) => metric.test(query)));
    expect(unused).toEqual([]);
  });
});
