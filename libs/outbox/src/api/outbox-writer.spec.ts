import { EventEnvelope } from '../model/event-envelope.js';
import { StringEventType } from '../model/event-type.js';
import { MemoryDatabase, MemoryOutboxStore, MemoryTxContext } from '../memory/index.js';
import { WriterHook } from '../spi/writer-hook.js';
import { OutboxWriter } from './outbox-writer.js';

const event = (eventId: string): EventEnvelope =>
  new EventEnvelope({ eventId, eventType: 'A', payloadJson: '1' });

function setUp(hook?: WriterHook): {
  database: MemoryDatabase;
  tx: MemoryTxContext;
  writer: OutboxWriter;
  errors: string[];
} {
  const database = new MemoryDatabase();
  const tx = new MemoryTxContext(database);
  const errors: string[] = [];
  const logger = {
    log: () => undefined,
    warn: () => undefined,
    error: (m: string) => void errors.push(m),
  };
  const writer = new OutboxWriter(tx, new MemoryOutboxStore(database), hook, { logger });
  return { database, tx, writer, errors };
}

describe('OutboxWriter', () => {
  it('refuses to write outside a transaction', async () => {
    const { writer, database } = setUp();
    await expect(writer.write(event('e1'))).rejects.toMatchObject({
      code: 'OUTBOX_TRANSACTION_REQUIRED',
    });
    await expect(writer.writeAll([])).rejects.toMatchObject({
      code: 'OUTBOX_TRANSACTION_REQUIRED',
    });
    expect(database.rows.size).toBe(0);
  });

  it('inserts on the connection of the transaction: visible after the commit only', async () => {
    const { writer, tx, database } = setUp();
    const ids = await tx.inTransaction(async () => {
      const written = await writer.writeAll([event('e1'), event('e2')]);
      expect(database.rows.size).toBe(0);
      return written;
    });
    expect([...database.rows.keys()]).toEqual(ids);
  });

  it('leaves no event of a transaction that rolls back', async () => {
    const { writer, tx, database } = setUp();
    const work = tx.inTransaction(async () => {
      await writer.write(event('e1'));
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(database.rows.size).toBe(0);
  });

  it('returns the id of an envelope, and of a type with JSON', async () => {
    const { writer, tx, database } = setUp();
    const ids = await tx.inTransaction(async () => [
      await writer.write(event('e1')),
      await writer.write('A', '{}'),
      await writer.write(StringEventType.of('B'), '{}'),
    ]);
    expect([...database.rows.keys()]).toEqual(ids);
    expect(ids[0]).toBe('e1');
  });

  it('write is writeAll with one event', async () => {
    const { writer, tx } = setUp();
    const writeAll = jest.spyOn(writer, 'writeAll');
    await tx.inTransaction(() => writer.write(event('e1')));
    expect(writeAll).toHaveBeenCalledTimes(1);
  });

  it('calls the hook in the order of the transaction', async () => {
    const calls: string[] = [];
    const { writer, tx, database } = setUp({
      beforeWrite: (events) => (calls.push('beforeWrite'), events),
      afterWrite: () => void calls.push(`afterWrite ${database.rows.size}`),
      afterCommit: () => void calls.push(`afterCommit ${database.rows.size}`),
      afterRollback: () => void calls.push('afterRollback'),
    });
    await tx.inTransaction(() => writer.write(event('e1')));
    expect(calls).toEqual(['beforeWrite', 'afterWrite 0', 'afterCommit 1']);
    calls.length = 0;
    await tx
      .inTransaction(() => writer.write(event('e2')).then(() => Promise.reject(new Error('no'))))
      .catch(() => undefined);
    expect(calls).toEqual(['beforeWrite', 'afterWrite 1', 'afterRollback']);
  });

  it('registers each callback once for a batch of ten', async () => {
    const { writer, tx } = setUp({ afterCommit: () => undefined, afterRollback: () => undefined });
    const spies = [jest.spyOn(tx, 'afterCommit'), jest.spyOn(tx, 'afterRollback')];
    const events = Array.from({ length: 10 }, (_, index) => event(`e${index}`));
    await tx.inTransaction(() => writer.writeAll(events));
    for (const spy of spies) expect(spy).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['no hook', undefined],
    ['the NOOP hook', WriterHook.NOOP],
  ])('registers nothing with %s', async (_, hook) => {
    const { writer, tx } = setUp(hook);
    const spy = jest.spyOn(tx, 'afterCommit');
    await tx.inTransaction(() => writer.write(event('e1')));
    expect(spy).not.toHaveBeenCalled();
  });

  it('writes what beforeWrite returns', async () => {
    const { writer, tx, database } = setUp({ beforeWrite: () => [event('other')] });
    expect(await tx.inTransaction(() => writer.write(event('e1')))).toBe('other');
    expect([...database.rows.keys()]).toEqual(['other']);
  });

  it.each([null, undefined, []])('writes nothing if beforeWrite returns %p', async (result) => {
    const { writer, tx, database } = setUp({ beforeWrite: () => result });
    expect(await tx.inTransaction(() => writer.write(event('e1')))).toBeNull();
    expect(await tx.inTransaction(() => writer.writeAll([event('e1')]))).toEqual([]);
    expect(database.rows.size).toBe(0);
  });

  it('passes an error of beforeWrite on, and writes nothing', async () => {
    const { writer, tx, database } = setUp({
      beforeWrite: () => Promise.reject(new Error('before')),
    });
    await expect(tx.inTransaction(() => writer.write(event('e1')))).rejects.toThrow('before');
    expect(database.rows.size).toBe(0);
  });

  it.each(['afterWrite', 'afterCommit'] as const)(
    'logs an error of %s and goes on, also of a rejected promise',
    async (method) => {
      for (const fail of [
        () => Promise.reject(new Error('secret')),
        () => {
          throw new Error('secret');
        },
      ]) {
        const { writer, tx, database, errors } = setUp({ [method]: fail });
        await tx.inTransaction(() => writer.write(event('e1')));
        expect(database.rows.size).toBe(1);
        expect(errors).toEqual([expect.stringMatching(`${method} of the writer hook failed`)]);
        expect(errors[0]).not.toContain('secret');
      }
    },
  );

  it('logs an error of afterRollback', async () => {
    const { writer, tx, errors } = setUp({ afterRollback: () => Promise.reject(new Error('x')) });
    const work = tx.inTransaction(() =>
      writer.write(event('e1')).then(() => Promise.reject(new Error('no'))),
    );
    await expect(work).rejects.toThrow('no');
    expect(errors).toHaveLength(1);
  });

  it('sees only the transaction of its own chain of calls', async () => {
    const { writer, tx, database } = setUp();
    const chains = Array.from({ length: 20 }, (_, index) =>
      tx
        .inTransaction(async () => {
          await Promise.resolve();
          await writer.write(event(`e${index}`));
          await new Promise((resolve) => setImmediate(resolve));
          if (index % 2) throw new Error('no');
        })
        .catch(() => undefined),
    );
    await Promise.all(chains);
    expect([...database.rows.keys()].sort()).toEqual(
      Array.from({ length: 10 }, (_, index) => `e${index * 2}`).sort(),
    );
  });
});
