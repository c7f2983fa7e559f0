import type { AdminSession, BrokerDriver } from '@nest-event-bus/broker';
import { errorOf } from '../support/test-bus.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const NOTE = { by: 'ann', reason: 'back again' };
const FIRST = { at: [{ partition: 0, offset: 0 }] };

type Deleting = AdminSession['deleteRecords'];

/** A driver whose deletions of records are done by `deleting`. */
function withDeletions(
  driver: BrokerDriver,
  deleting: (
    topic: string,
    before: Parameters<Deleting>[1],
    real: Deleting,
  ) => ReturnType<Deleting>,
): BrokerDriver {
  const replaced = (admin: AdminSession): AdminSession =>
    new Proxy(admin, {
      get: (target, name) => {
        if (name === 'deleteRecords')
          return (topic: string, before: Parameters<Deleting>[1]) =>
            deleting(topic, before, (...given) => target.deleteRecords(...given));
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  return new Proxy(driver, {
    get: (target, name) => {
      if (name === 'admin') return () => replaced(target.admin());
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

describe('A purge by age', () => {
  it('never deletes a letter that it cannot read yet', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const producer = testBus.outside.producer({ transactionalId: 'other', lingerMs: 0 });
    const transaction = await testBus.done(producer.transaction());
    const headers = [{ key: 'x-eventbus-group-id', value: 'billing' }];
    const letter = { topic: 'orders.DLT', partition: 0, value: 'of billing', headers };
    await testBus.done(transaction.send([letter]));
    await testBus.runtime.advance(30_000);
    const report = await testBus.done(testBus.replay.purge('orders', { olderThan: '1s' }));
    expect(report).toMatchObject({ deleted: 2, partitions: [{ low: 2, deleted: 2 }] });
    await testBus.done(transaction.commit());
    expect(await testBus.deadLetters()).toEqual(['of billing']);
    await testBus.done(producer.close());
  });

  it('counts letters, and not the offsets of transactions', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const producer = testBus.outside.producer({ transactionalId: 'other', lingerMs: 0 });
    const transaction = await testBus.done(producer.transaction());
    await testBus.done(transaction.send([{ topic: 'orders.DLT', partition: 0, value: '2' }]));
    await testBus.done(transaction.commit());
    await testBus.fails('3');
    await testBus.runtime.advance(30_000);
    const report = await testBus.done(testBus.replay.purge('orders', { olderThan: '1s' }));
    expect(report).toMatchObject({ deleted: 3, partitions: [{ low: 4 }] });
    await testBus.done(producer.close());
  });
});

describe('A purge by plan', () => {
  it('never deletes a letter that was reopened while it runs', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', FIRST, NOTE));
    const nothing = await testBus.done(replay.plan('orders', { where: { key: 'none' } }));
    let reopened: unknown;
    const purging = otherProcess(testBus, (driver) =>
      withDeletions(driver, async (topic, before, real) => {
        reopened = await replay.reopen('orders', FIRST, NOTE);
        return real(topic, before);
      }),
    );
    const report = await testBus.done(purging.purge('orders', { plan: nothing.id }));
    // The letter was gone for the operator who wanted it, and nobody was told that it is open.
    expect(reopened).toEqual({ changed: 0, unchanged: 1 });
    expect(report.deleted).toBe(1);
    expect(await testBus.deadLetters()).toEqual(['2']);
  });

  it('that died before it deleted is finished before a letter is reopened', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', FIRST, NOTE));
    const nothing = await testBus.done(replay.plan('orders', { where: { key: 'none' } }));
    const dying = otherProcess(testBus, (driver) =>
      withDeletions(driver, () => new Promise(() => undefined)),
    );
    void dying.purge('orders', { plan: nothing.id });
    await testBus.runtime.advance(5_000);
    const report = await testBus.done(replay.reopen('orders', FIRST, NOTE));
    expect(report).toEqual({ changed: 0, unchanged: 1 });
    expect(await testBus.deadLetters()).toEqual(['2']);
    expect(await testBus.done(replay.plan('orders', { all: true }))).toMatchObject({ selected: 1 });
  });

  it('that died before it deleted is finished before a letter is replayed', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', FIRST, NOTE));
    const nothing = await testBus.done(replay.plan('orders', { where: { key: 'none' } }));
    const dying = otherProcess(testBus, (driver) =>
      withDeletions(driver, () => new Promise(() => undefined)),
    );
    void dying.purge('orders', { plan: nothing.id });
    await testBus.runtime.advance(5_000);
    testBus.cure();
    const report = await testBus.finished(replay.replay('orders', { all: true }));
    expect(report).toMatchObject({ state: 'completed', replayed: 1 });
    expect(await testBus.deadLetters()).toEqual(['2']);
  });

  it('that the cluster refuses deletes nothing, and its letters can be reopened', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', FIRST, NOTE));
    const nothing = await testBus.done(replay.plan('orders', { where: { key: 'none' } }));
    const refused = new Error('POLICY_VIOLATION');
    const purging = otherProcess(testBus, (driver) =>
      withDeletions(driver, () => Promise.reject(refused)),
    );
    const purge = testBus.done(purging.purge('orders', { plan: nothing.id }));
    expect(await errorOf(purge)).toBe(refused);
    const report = await testBus.done(replay.reopen('orders', FIRST, NOTE));
    expect(report).toEqual({ changed: 1, unchanged: 0 });
    expect(await testBus.deadLetters()).toEqual(['1', '2']);
  });
});
