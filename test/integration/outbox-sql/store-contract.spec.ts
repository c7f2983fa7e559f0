import { storeContract } from '@nest-event-bus/outbox/contract';
import { contractDatabase } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { openMysql, openPostgres } from './support/databases.js';

describeWithService('PostgreSQL', 'PostgresOutboxStore', (url) => {
  describe.each(['binary', 'json'] as const)("with payload '%s'", (payload) => {
    storeContract(
      { describe, it },
      {
        open: () => contractDatabase(openPostgres(url), { payload }),
        leased: true,
        inspected: true,
        binaryPayloads: payload === 'binary',
      },
    );
  });
});

describeWithService('MySQL', 'MySqlOutboxStore', (url) => {
  describe.each(['binary', 'json'] as const)("with payload '%s'", (payload) => {
    storeContract(
      { describe, it },
      {
        open: () => contractDatabase(openMysql(url), { payload }),
        leased: true,
        inspected: true,
        binaryPayloads: payload === 'binary',
      },
    );
  });
});
