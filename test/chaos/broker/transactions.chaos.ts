import { realRuntime } from '@nest-event-bus/broker/runtime';
import { describeWithCluster } from '../../integration/support/index.js';
import { TransactionStorm } from './storm/transaction-storm.js';
import { membershipNames } from './support/memberships.js';
import { SeededRandom } from './support/seeded-random.js';

const smoke = process.env['CHAOS_SMOKE'] === '1';
const LONGEST_MS = 600_000;

/** CHAOS_SEED repeats a run, CHAOS_RECORDS changes its size. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));
const records = Number(process.env['CHAOS_RECORDS'] ?? (smoke ? 3_000 : 100_000));
const perSecond = smoke ? 1_000 : 1_500;
const recordsAtOnce = smoke ? 20 : 100;
const leastIncidents = smoke ? 2 : undefined;

const cases = membershipNames.filter((_, kind) => !smoke || seed % membershipNames.length === kind);

describeWithCluster(
  `Transactions under disturbances, seed ${seed}`,
  { brokers: 3, proxied: true },
  (cluster) => {
    it.each(cases)(
      'consume, transform, produce (%s): a read_committed consumer sees exactly one output per input',
      async (membership) => {
        const random = new SeededRandom(seed);
        const settings = { membership, random, records, perSecond, recordsAtOnce, leastIncidents };
        const report = await new TransactionStorm({ cluster: cluster(), ...settings }).run();
        const facts = Object.entries(report.figures).map(([name, value]) => `${name} ${value}`);
        process.stderr.write(`exactly once: ${facts.join(', ')}\n`);
        expect(report.failures).toEqual([]);
        expect(report.inputs).toBeGreaterThanOrEqual(records);
        expect(report.missing).toEqual([]);
        expect(report.duplicated).toEqual([]);
        expect(report.unexpected).toEqual([]);
        expect(report.regressions).toEqual([]);
      },
      LONGEST_MS,
    );
  },
);
