import { storeContract } from '../contract/index.js';
import { MemoryDatabase } from './memory-database.js';
import { MemoryOutboxStore } from './memory-outbox-store.js';
import { MemoryEventPurger } from './memory-purgers.js';

describe('MemoryOutboxStore', () => {
  storeContract(
    { describe, it },
    {
      leased: true,
      inspected: true,
      binaryPayloads: true,
      open: () => {
        const database = new MemoryDatabase();
        let now = 1_800_000_000_000;
        return Promise.resolve({
          store: new MemoryOutboxStore(database, { now: () => now }),
          provider: database,
          purgers: {
            status: new MemoryEventPurger(database),
            age: new MemoryEventPurger(database, 'age'),
          },
          begin: () => {
            const transaction = database.begin();
            return Promise.resolve({
              connection: transaction,
              commit: () => Promise.resolve(transaction.commit()),
              rollback: () => Promise.resolve(transaction.rollback()),
            });
          },
          readAll: () => Promise.resolve([...database.rows.values()]),
          now: () => Promise.resolve(now),
          waitFor: (ms) => Promise.resolve(void (now += ms)),
          close: () => Promise.resolve(),
        });
      },
    },
  );
});
