import { EventEnvelope, type JsonCodec } from '@nest-event-bus/outbox';
import { MySqlOutboxStore } from './mysql-outbox-store.js';
import { OutboxStores } from './outbox-stores.js';
import { PostgresOutboxStore } from './postgres-outbox-store.js';
import { missingDriver, openSqlite } from './sqlite-database.spec-support.js';
import { SqliteOutboxStore } from './sqlite-outbox-store.js';
import { SqlOutboxSchema } from '../schema/sql-outbox-schema.js';

describe('OutboxStores', () => {
  it.each([
    ['postgres://localhost/shop', PostgresOutboxStore],
    ['mysql://localhost/shop', MySqlOutboxStore],
    ['sqlite:shop.db', SqliteOutboxStore],
    [{ options: { type: 'mariadb' } }, MySqlOutboxStore],
    [{ dialect: 'pg' }, PostgresOutboxStore],
  ])('detects the store for %j', (handle, store) => {
    expect(OutboxStores.detect(handle)).toBeInstanceOf(store);
  });

  it.each([undefined, null, 7, {}, 'oracle://localhost/shop'])(
    'refuses %j, which is no known database',
    (handle) => {
      expect(() => OutboxStores.detect(handle)).toThrow(
        expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }),
      );
    },
  );

  it('asks a store that was registered first', () => {
    const handle = { mine: true };
    const created = new SqliteOutboxStore({ tableName: 'mine' });
    OutboxStores.register({ matches: (given) => given === handle, create: () => created });
    expect(OutboxStores.detect(handle)).toBe(created);
    expect(OutboxStores.detect('sqlite:shop.db')).not.toBe(created);
  });

  (missingDriver('better-sqlite3') === undefined ? it : it.skip)(
    'passes a codec to the store, which writes the headers with it',
    async () => {
      const codec: JsonCodec = { toJson: () => '{"own":"codec"}', parseObject: () => new Map() };
      const database = openSqlite();
      await new SqlOutboxSchema('sqlite').migrate(database);
      database.prepare('BEGIN').run();
      const event = EventEnvelope.builder('A').headers({ a: 'b' }).payloadJson('1').build();
      await OutboxStores.detect(database, codec).insertNew(database, event);
      database.prepare('COMMIT').run();
      expect(database.prepare('SELECT headers FROM outbox_event').all()).toEqual([
        { headers: '{"own":"codec"}' },
      ]);
      database.close();
    },
  );
});
