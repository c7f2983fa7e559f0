import { realRuntime } from '@nest-event-bus/broker/runtime';
import { describeWithCluster } from '../../integration/support/index.js';
import { TransactionStorm } from './storm/transaction-storm.js';
import { membershipNames } from './support/memberships.js';
import { SeededRandom } from './support/seeded-random.js';

const smoke = process.env['CHAOS_SMOKE'] === '1';
const LONGEST_MS = 600_000;

/** CHAOS_SEED repeats a run, CHAOS_RECORDS makes it longer or shorter. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));
const records = Number(process.env['CHAOS_RECORDS'] ?? (smoke ? 3_000 : 100_000));
const perSecond = smoke ? 1_000 : 1_500;
const recordsAtOnce = smoke ? 20 : 100;
const leastIncidents = smoke ? 2 : undefined;

const cases = membershipNames.filter((_, kind) => !smoke || seed % membershipNames.length === kind);

describeWithCluster(
  `transactions in a storm, seed ${seed}`,
  { brokers: 3, proxied: true },
  (cluster) => {
    it.each(cases)(
      'consume, transform, produce (%s): a read-committed reader sees one output for each input, and no other',
      async (membership) => {
        const random = new SeededRandom(seed);
        const settings = { membership, random, records, perSecond, recordsAtOnce, leastIncidents };
        const report = await new TransactionStorm({ cluster: cluster(), ...settings }).run();
        const facts = Object.entries(report.figures).map(([name, value]) => `${name} ${value}`);
        process.stderr.write(`exactly once: ${facts.join(', ')}\n`);
        expect(report.failures).toEqual([]);
        expect(report.inputs).toBeGreaterThanOrEqual(records);
        expect(report.without).toEqual([]);
        expect(report.doubled).toEqual([]);
        expect(report.foreign).toEqual([]);
        expect(report.regressions).toEqual([]);
      },
      LONGEST_MS,
    );
  },
);
