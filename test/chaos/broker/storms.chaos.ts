import { realRuntime } from '@nest-event-bus/broker/runtime';
import { describeWithCluster } from '../../integration/support/index.js';
import { expectUnharmed, printStorm } from './storm/expect-storm.js';
import {
  ALL_IN_TURN,
  KINDS_OF_INCIDENT,
  scenarioNames,
  type ScenarioName,
} from './storm/scenarios.js';
import { Storm } from './storm/storm.js';
import { membershipNames } from './support/memberships.js';
import { SeededRandom } from './support/seeded-random.js';

const smoke = process.env['CHAOS_SMOKE'] === '1';
const LONGEST_MS = 600_000;

/** CHAOS_SEED repeats a run, CHAOS_RECORDS changes its size. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));
const records = Number(process.env['CHAOS_RECORDS'] ?? (smoke ? 20_000 : 100_000));
const perSecond = smoke ? 1_500 : 2_500;
const leastIncidents = smoke ? KINDS_OF_INCIDENT : 3;

/** The short form runs all kinds of incidents in one storm. */
const chosen: readonly ScenarioName[] = smoke ? [ALL_IN_TURN] : scenarioNames;
const cases = chosen.flatMap((scenario) =>
  membershipNames.map((membership) => ({ scenario, membership })),
);

describeWithCluster(
  `Three brokers under disturbances, seed ${seed}`,
  { brokers: 3, proxied: true },
  (cluster) => {
    for (const { scenario, membership } of cases)
      it(
        `${scenario} (${membership}): no record is lost, duplicated in the log, skipped or owned twice`,
        async () => {
          const random = new SeededRandom(seed);
          const settings = { scenario, membership, random, records, perSecond, leastIncidents };
          const report = await new Storm({ cluster: cluster(), ...settings }).run();
          printStorm(scenario, report);
          expectUnharmed(report, records);
        },
        LONGEST_MS,
      );
  },
);
