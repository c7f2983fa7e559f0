import { contractDatabase } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { commitOrderCases } from '../../integration/outbox-sql/support/commit-order-cases.js';
import { openPostgres } from '../../integration/outbox-sql/support/databases.js';
import { describeWithService } from '../../integration/support/index.js';
import { newRandom, seed, sizeOf } from '../core/chaos-run.js';

/** The variable CHAOS_ROUNDS chooses another size. */
const rounds = sizeOf('ROUNDS', { full: 1_000, smoke: 20 });

describeWithService(
  'PostgreSQL',
  `Leases of PostgreSQL, with ${rounds} transactions that overlap, seed ${seed}`,
  (url) => {
    const random = newRandom();
    commitOrderCases(() => contractDatabase(openPostgres(url)), {
      rounds,
      random: () => random.next(),
    });
  },
);
