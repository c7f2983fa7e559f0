import {
  describeMissing,
  describeWithCluster,
} from '../../integration/support/describe-with-kafka.js';
import { OwnPostgres } from '../../integration/support/own-postgres.js';
import { isSmoke, newRandom, seed, sizeOf } from '../core/chaos-run.js';
import { OutboxStorm, type StormReport } from './storm/outbox-storm.js';

const LONGEST_MS = 1_800_000;

/** The variables CHAOS_EVENTS and CHAOS_EVERY_MS choose other sizes. */
const sizes = {
  events: sizeOf('EVENTS', { full: 100_000, smoke: 1_000 }),
  everyMs: sizeOf('EVERY_MS', { full: 3_000, smoke: 300 }),
};
const NAME = `An outbox of three nodes under kill -9, seed ${seed}`;

if (OwnPostgres.findPrograms() === undefined)
  describeMissing(NAME, 'there is no PostgreSQL that could be started and stopped');
else
  describeWithCluster(NAME, {}, (cluster) => {
    let postgres: OwnPostgres;
    beforeAll(async () => {
      postgres = await OwnPostgres.start();
    }, 300_000);
    afterAll(() => postgres?.end(), 120_000);

    async function run(mode: 'defaults' | 'all switches'): Promise<StormReport> {
      const options = { mode, kafka: cluster(), postgres, ...sizes, random: newRandom() };
      const report = await new OutboxStorm(options).run();
      print(mode, report);
      expect(report.committed).toBeGreaterThanOrEqual(sizes.events);
      expect(report.states).toEqual({ 1: report.committed });
      return report;
    }

    it(
      'loses no event, publishes none that was rolled back, and keeps the order of each key',
      async () => {
        const report = await run('all switches');
        const { lost, unknown, overtaken, stale, unexplained } = report;
        const nothing = { lost: [], unknown: [], overtaken: [], stale: [], unexplained: [] };
        expect({ lost, unknown, overtaken, stale, unexplained }).toEqual(nothing);
      },
      LONGEST_MS,
    );

    // The short form has one storm.
    if (isSmoke) return;

    it(
      'loses no event with the defaults of the specification, which promise no order',
      async () => {
        const { lost, unknown } = await run('defaults');
        expect({ lost, unknown }).toEqual({ lost: [], unknown: [] });
      },
      LONGEST_MS,
    );
  });

function print(mode: string, report: StormReport): void {
  const { committed, records, kills, freezes, duplicates, seconds } = report;
  process.stderr.write(
    `${mode}: ${committed} events, ${records} records in ${seconds.toFixed(0)} s, ${kills} kills, ${freezes} freezes, one crash of the database and of the broker: ` +
      `${report.lost.length} lost, ${report.unknown.length} of transactions that were rolled back, ` +
      `${duplicates} published again, ${report.unexplained.length} of them without an incident, ` +
      `${report.stale.length} by a lease that was over, ${report.overtaken.length} out of order\n`,
  );
  if (mode === 'all switches' && report.unexplained.length > 0)
    process.stderr.write(
      `${JSON.stringify(report.incidents)}\n${report.unexplained.map((pair) => JSON.stringify(pair)).join('\n')}\n`,
    );
}
