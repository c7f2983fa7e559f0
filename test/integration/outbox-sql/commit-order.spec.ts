import { contractDatabase } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { newRandom, seed } from '../../chaos/core/chaos-run.js';
import { describeWithService } from '../support/index.js';
import { commitOrderCases } from './support/commit-order-cases.js';
import { openMysql, openPostgres } from './support/databases.js';

/** The full form is `npm run test:chaos -- commit-order`. */
const ROUNDS = 20;

describeWithService(
  'PostgreSQL',
  `Leases of PostgreSQL, with transactions that overlap, seed ${seed}`,
  (url) => {
    const random = newRandom();
    commitOrderCases(() => contractDatabase(openPostgres(url)), {
      rounds: ROUNDS,
      random: () => random.next(),
    });
  },
);

describeWithService(
  'MySQL',
  `Leases of MySQL, with transactions that overlap, seed ${seed}`,
  (url) => {
    const random = newRandom();
    commitOrderCases(() => contractDatabase(openMysql(url)), {
      rounds: ROUNDS,
      random: () => random.next(),
    });
  },
);
