import { storeContract } from '@nest-event-bus/outbox/contract';
import { contractDatabase } from './contract-database.spec-support.js';
import { missingDriver, sqliteDatabase } from './sqlite-database.spec-support.js';

describe('SqliteOutboxStore', () => {
  describe.each(['better-sqlite3', 'node:sqlite'] as const)('with %s', (driver) => {
    const missing = missingDriver(driver);
    if (missing !== undefined) {
      // oxlint-disable-next-line jest/no-disabled-tests
      it.skip(`is not tested: ${missing}`, () => undefined);
      return;
    }
    describe.each(['binary', 'json'] as const)("and payload '%s'", (payload) => {
      storeContract(
        { describe, it },
        {
          open: () => contractDatabase(sqliteDatabase(driver), { payload }),
          leased: true,
          inspected: true,
          binaryPayloads: payload === 'binary',
        },
      );
    });
  });
});
