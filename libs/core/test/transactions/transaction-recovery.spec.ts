import { Deferred } from '@nest-event-bus/broker/runtime';
import type { TestingModule } from '@nestjs/testing';
import { TransactionTestBus, valuesUpTo } from '../support/transaction-test-bus.spec-support.js';

let testBus: TransactionTestBus;

beforeEach(async () => {
  testBus = await TransactionTestBus.create();
});

afterEach(() => testBus.end());

describe('An ordinary commit of records that were moved to another topic', () => {
  it('is stored before the next transaction begins, so that it cannot move the offset back', async () => {
    testBus.act = (value) => {
      if (value === '0') throw new Error('never');
    };
    await testBus.topic('orders.DLT');
    const late = testBus.broker.faults.delayRequests({ operation: 'commit' }, 2_000, { times: 1 });
    await testBus.startProcess({
      properties: { ackMode: 'MANUAL', retry: { tiers: [], tier0: { maxAttempts: 1 } } },
    });
    await testBus.write('orders', '0');
    await testBus.runtime.advance(500);
    expect(late.hits).toBe(1);
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(10_000);
    expect(await testBus.outputs()).toEqual(['1', '2']);
    expect(await testBus.committed()).toBe(3);
  });
});

describe('A transaction that fails', () => {
  it.each([
    ['while its records are written', 'produce'],
    ['while the offsets are sent', 'commit-offsets-in-transaction'],
    ['while it is committed', 'end-transaction'],
  ] as const)('%s is aborted, and its records are handled again', async (_, operation) => {
    const fault = testBus.broker.faults.refuse(
      { operation, clientId: 'bus' },
      'CLUSTER_AUTHORIZATION_FAILED',
      { times: 1 },
    );
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess();
    await testBus.runtime.advance(90_000);
    expect(fault.hits).toBe(1);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(3);
    expect(await testBus.topicNames()).toEqual(['orders', 'out']);
  });

  it.each([
    ['the broker has executed', 'loseAnswers'],
    ['the broker has not received', 'loseRequests'],
  ] as const)(
    'is checked at the broker if its commit is not answered: a commit that %s',
    async (_, lose) => {
      const fault = testBus.broker.faults[lose]({ operation: 'end-transaction', clientId: 'bus' });
      await testBus.write('orders', ...valuesUpTo(3));
      await testBus.startProcess();
      await testBus.runtime.advance(50_000);
      expect(fault.hits).toBeGreaterThan(3);
      fault.lift();
      await testBus.runtime.advance(90_000);
      expect(await testBus.outputs()).toEqual(valuesUpTo(3));
      expect(await testBus.committed()).toBe(3);
    },
  );
});

describe('A transaction that was committed during an outage', () => {
  it('is recognised by the offset of the group, so nothing is handled twice', async () => {
    const end = { operation: 'end-transaction', clientId: 'bus' } as const;
    const lost = testBus.broker.faults.loseAnswers(end, { times: 1 });
    await testBus.startProcess();
    await testBus.write('orders', '0');
    expect(lost.hits).toBe(1);
    const outage = testBus.broker.faults.unplug(end);
    await testBus.runtime.advance(60_000);
    outage.lift();
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    expect([testBus.called, await testBus.outputs()]).toEqual([valuesUpTo(2), valuesUpTo(2)]);
    expect(await testBus.committed()).toBe(2);
  });
});

describe('A process that dies between its outputs and their commit', () => {
  const dieBeforeCommit = async (name: string): Promise<void> => {
    testBus.broker.faults.loseRequests({ operation: 'end-transaction', clientId: name });
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess({ name });
    await testBus.runtime.advance(500);
    expect(testBus.called).toEqual(valuesUpTo(3));
    testBus.broker.faults.unplug({ clientId: name });
  };

  it('leaves no output: after its restart it aborts the open transaction and continues at once', async () => {
    await dieBeforeCommit('first');
    expect(await testBus.outputs()).toEqual([]);
    await testBus.startProcess({ name: 'first-restarted' });
    // Waits for the session timeout of the dead member, not for a transaction timeout.
    await testBus.runtime.advance(8_000);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(3);
  });

  it('leaves no output: another process waits until the broker has aborted the transaction', async () => {
    await dieBeforeCommit('first');
    await testBus.startProcess({ name: 'second', idPrefix: 'second-' });
    await testBus.runtime.advance(60_000);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(3);
  });
});

describe('A member whose partition was reassigned', () => {
  it('commits no output of its handler', async () => {
    const gate = new Deferred();
    testBus.act = () => (testBus.called.length === 1 ? gate.promise : undefined);
    await testBus.startProcess({ name: 'zombie' });
    await testBus.write('orders', '0');
    expect(testBus.called).toEqual(['0']);
    const noHeartbeats = testBus.broker.faults.dropHeartbeats({ clientId: 'zombie' });
    await testBus.startProcess({ name: 'second', idPrefix: 'second-' });
    await testBus.runtime.advance(10_000);
    expect([testBus.called, await testBus.outputs()]).toEqual([['0', '0'], ['0']]);
    gate.resolve();
    await testBus.runtime.advance(5_000);
    noHeartbeats.lift();
    await testBus.runtime.advance(30_000);
    expect(await testBus.outputs()).toEqual(['0']);
    expect(await testBus.committed()).toBe(1);
  });

  it('commits no output even if it owns the partition again: the record is handled again and counts once', async () => {
    const gate = new Deferred();
    testBus.act = () => (testBus.called.length === 1 ? gate.promise : undefined);
    await testBus.startProcess();
    await testBus.write('orders', '0');
    const [member] = await testBus.members();
    testBus.broker.faults.expireSession('shop', member!.memberId);
    await testBus.runtime.advance(10_000);
    expect(await testBus.members()).toHaveLength(1);
    gate.resolve();
    await testBus.runtime.advance(30_000);
    expect([testBus.called, await testBus.outputs()]).toEqual([['0', '0'], ['0']]);
    expect(await testBus.committed()).toBe(1);
  });

  it('is refused by the broker if it has not noticed the reassignment', async () => {
    const late = testBus.broker.faults.delayRequests(
      { operation: 'commit-offsets-in-transaction', clientId: 'zombie' },
      9_000,
      { times: 1 },
    );
    testBus.broker.faults.dropHeartbeats({ clientId: 'zombie' });
    await testBus.startProcess({ name: 'zombie' });
    await testBus.write('orders', '0');
    expect(late.hits).toBe(1);
    await testBus.startProcess({ name: 'second', idPrefix: 'second-' });
    await testBus.runtime.advance(60_000);
    expect(await testBus.outputs()).toEqual(['0']);
    expect(await testBus.committed()).toBe(1);
  });

  it('duplicates nothing, whatever rebalances happen meanwhile', async () => {
    const joined: TestingModule[] = [];
    testBus.act = () => testBus.runtime.advance(20);
    await testBus.startProcess({ name: 'stays' });
    for (let round = 0; round < 6; round++) {
      const values = Array.from({ length: 10 }, (_, index) => `${round}-${index}`);
      await testBus.write(
        'orders',
        ...values.map((value, index) => ({ value: `"${value}"`, partition: index % 2 })),
      );
      const name = `comes-${round}`;
      joined.push(await testBus.startProcess({ name, idPrefix: `${name}-` }));
      await testBus.runtime.advance(300);
      if (round % 2 === 1) for (const each of joined.splice(0)) await testBus.done(each.close());
    }
    await testBus.runtime.advance(30_000);
    const all = await testBus.outputs();
    expect(all).toHaveLength(60);
    expect(new Set(all).size).toBe(60);
    expect(await testBus.committed('shop', 0)).toBe(30);
    expect(await testBus.committed('shop', 1)).toBe(30);
  });
});
