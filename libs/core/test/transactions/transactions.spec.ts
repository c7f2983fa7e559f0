import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { errorOf, World } from '../support/application.spec-support.js';

/** By default. */
const TIERS = 3;

let world: World;
let called: string[];
/** After a record's output was sent. */
let act: (value: string, call: number) => unknown;

const valueOf = ({ value }: EventRecord): string => String(value);

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle(record: EventRecord, { transaction, attempt }: EventContext): Promise<void> {
    const value = valueOf(record);
    called.push(value);
    transaction.send({ topic: 'out', key: value, value });
    await act(value, attempt.total);
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord[], contexts: readonly EventContext[]): Promise<void> {
    for (const [index, record] of records.entries()) {
      const value = valueOf(record);
      called.push(value);
      contexts[index]!.transaction.send([{ topic: 'out', key: value, value }]);
      await act(value, contexts[index]!.attempt.total);
    }
  }
}

@Injectable()
class Silent {
  @EventHandler('orders')
  handle(record: EventRecord): void {
    called.push(valueOf(record));
  }
}

beforeEach(async () => {
  world = new World();
  called = [];
  act = () => undefined;
  await world.topic('orders', 2);
  await world.topic('out');
});

afterEach(() => world.end());

const quick = {
  sessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  rebalance: { drainTimeoutMs: 1_000 },
};

interface Process {
  readonly name?: string;
  readonly idPrefix?: string;
  readonly provider?: new () => object;
  readonly properties?: object;
}

/** An application as a process of its own, with a line of its own to the broker. */
const start = ({ name = 'bus', idPrefix, provider = Orders, properties = {} }: Process = {}) =>
  world.startOrders(
    [provider],
    { ...quick, transactions: { enabled: true, ...(idPrefix && { idPrefix }) }, ...properties },
    { driver: memory({ broker: world.broker, clientId: name, requestTimeoutMs: 3_000 }) },
  );

/** What a reader of committed records sees. */
const outputs = async (): Promise<readonly string[]> =>
  (await world.records('out')).map(({ value }) => String(value));

const written = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index}`);

const countsOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').mainContainer.counts;

describe('transactions.enabled', () => {
  it('is false by default: a handler that wants a transaction is told so', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Curious {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        try {
          context.transaction.send({ topic: 'out', value: 'v' });
        } catch (error) {
          seen.push(error);
        }
      }
    }
    await world.startOrders([Curious]);
    await world.write('orders', '1');
    expect(String(seen[0])).toContain("Binding 'orders' has no transactions: set");
    expect(await outputs()).toEqual([]);
  });

  it.each([
    ['of single records', Orders],
    ['of batches', Batches],
  ])('commits what handlers send with the progress of a whole slice: %s', async (_, provider) => {
    const ends = world.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
    const commits = world.broker.faults.delayAnswers({ operation: 'commit' }, 1);
    await world.write('orders', ...written(40));
    const application = await start({ provider });
    await world.runtime.advance(2_000);
    expect(await outputs()).toEqual(written(40));
    expect(await world.committed()).toBe(40);
    expect([ends.hits, commits.hits]).toEqual([1, 0]);
    expect(countsOf(application)).toMatchObject({ received: 40, succeeded: 40, inFlight: 0 });
  });

  it('so they do with the batches of several handlers, one after the other', async () => {
    const take = (records: readonly EventRecord[], contexts: readonly EventContext[]): void => {
      called.push(records.map(valueOf).join());
      for (const [index, record] of records.entries())
        contexts[index]!.transaction.send({ topic: 'out', value: valueOf(record) });
    };
    @Injectable()
    class TwoTypes {
      @EventHandler.Batch('orders', { type: 'A' })
      a(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
        take(records, contexts);
      }

      @EventHandler.Batch('orders', { type: 'B' })
      b(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
        take(records, contexts);
      }
    }
    const ends = world.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
    const typed = ['A', 'A', 'B', 'A'].map((type, index) => ({
      value: `${index}`,
      headers: [{ key: 'event-type', value: Buffer.from(type) }],
    }));
    await world.write('orders', ...typed);
    await start({ provider: TwoTypes });
    await world.runtime.advance(2_000);
    expect(called).toEqual(['0,1', '2', '3']);
    expect([await outputs(), await world.committed(), ends.hits]).toEqual([written(4), 4, 1]);
  });

  it('nothing can be read before its handler has ended, nor committed', async () => {
    const gate = new Deferred();
    act = () => gate.promise;
    await start();
    await world.write('orders', '0');
    await world.runtime.advance(40_000);
    expect([await outputs(), await world.committed()]).toEqual([[], 0]);
    gate.resolve();
    await world.runtime.advance(1_000);
    expect([await outputs(), await world.committed()]).toEqual([['0'], 1]);
  });

  it('a slow handler does not hold up what others have done before it', async () => {
    const gate = new Deferred();
    act = async (value) => {
      if (value === '1') await world.runtime.advance(100);
      if (value === '2') await gate.promise;
    };
    await world.write('orders', ...written(4));
    await start();
    await world.runtime.advance(1_000);
    expect([await outputs(), await world.committed()]).toEqual([['0', '1'], 2]);
    gate.resolve();
    await world.runtime.advance(1_000);
    expect(await outputs()).toEqual(written(4));
  });

  it('a record of which nothing is sent is committed as ever', async () => {
    const ends = world.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
    await start({ provider: Silent });
    await world.write('orders', '0', '1');
    await world.runtime.advance(1_000);
    expect([await world.committed(), ends.hits]).toEqual([2, 0]);
  });
});

describe('a call that failed', () => {
  it('has sent nothing: there is one output of each record', async () => {
    act = (value, call) => {
      if (value === '1' && call < 3) throw new Error('not yet');
    };
    await world.write('orders', ...written(3));
    await start();
    await world.runtime.advance(5_000);
    expect(called).toEqual(['0', '1', '1', '1', '2']);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
  });

  it('of a batch: what it has sent for others is not doubled', async () => {
    act = (value, call) => {
      if (value === '1' && call < 2) throw new Error('not yet');
    };
    await world.write('orders', ...written(3));
    await start({ provider: Batches });
    await world.runtime.advance(30_000);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
  });

  it('for good: its record is dead-lettered, and what others have sent is there once', async () => {
    act = (value) => {
      if (value === '1') throw new Error('never');
    };
    await world.topic('orders.DLT');
    await world.write('orders', ...written(4));
    await start({ properties: { retry: { tiers: [], tier0: { maxAttempts: 1 } } } });
    await world.runtime.advance(5_000);
    expect((await world.records('orders.DLT')).map(({ value }) => String(value))).toEqual(['1']);
    expect(await outputs()).toEqual(['0', '2', '3']);
    expect(called).toEqual(written(4));
    expect(await world.committed()).toBe(4);
  });

  it('in a retry topic, too: its tier has transactions of its own', async () => {
    let failures = 0;
    act = (value) => {
      if (value === '1' && failures++ < 1) throw new Error('later');
    };
    await world.topic('orders.retry-1');
    await world.topic('orders.DLT');
    await world.write('orders', ...written(3));
    await start({
      properties: { retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] } },
    });
    await world.runtime.advance(20_000);
    expect((await outputs()).toSorted()).toEqual(written(3));
    expect(called).toEqual(['0', '1', '2', '1']);
  });

  it('because of what it sends: only its own record pays for it', async () => {
    const admin = world.outside.admin();
    await world.done(
      admin.createTopics([
        { name: 'small', partitions: 1, config: { 'max.message.bytes': '500' } },
      ]),
    );
    @Injectable()
    class Large {
      @EventHandler('orders')
      handle(record: EventRecord, { transaction }: EventContext): void {
        const value = valueOf(record);
        called.push(value);
        transaction.send({ topic: 'small', value: value === '1' ? 'x'.repeat(2_000) : value });
      }
    }
    await world.topic('orders.DLT');
    await world.write('orders', ...written(3));
    await start({ provider: Large });
    await world.runtime.advance(10_000);
    expect((await world.records('small')).map(({ value }) => String(value))).toEqual(['0', '2']);
    expect((await world.records('orders.DLT')).map(({ value }) => String(value))).toEqual(['1']);
    expect(called.filter((value) => value !== '2')).toEqual(['0', '1']);
    expect(await world.committed()).toBe(3);
  });
});

describe('what another handler has done behind a record whose output no broker takes', () => {
  const take = (records: readonly EventRecord[], contexts: readonly EventContext[]): void => {
    called.push(records.map(valueOf).join());
    for (const [index, { transaction }] of contexts.entries()) {
      const value = valueOf(records[index]!);
      transaction.send({ topic: 'small', value: value === '1' ? 'x'.repeat(2_000) : value });
    }
  };

  @Injectable()
  class TwoTypes {
    @EventHandler.Batch('orders', { type: 'A' })
    takeA(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
      take(records, contexts);
    }
    @EventHandler.Batch('orders', { type: 'B' })
    takeB(records: readonly EventRecord[], contexts: readonly EventContext[]): void {
      take(records, contexts);
    }
  }

  it('is done again, as if it were the first time', async () => {
    const config = { 'max.message.bytes': '500' };
    await world.done(
      world.outside.admin().createTopics([{ name: 'small', partitions: 1, config }]),
    );
    await world.topic('orders.DLT');
    const typed = ['A', 'A', 'B'].map((type, index) => ({
      value: `${index}`,
      headers: [{ key: 'event-type', value: Buffer.from(type) }],
    }));
    await world.write('orders', ...typed);
    await start({
      provider: TwoTypes,
      properties: {
        batchFailureStrategy: 'DLQ_AND_CONTINUE',
        retry: { tier0: { maxAttempts: 1 }, tiers: [] },
      },
    });
    await world.runtime.advance(10_000);
    const values = async (topic: string): Promise<string[]> =>
      (await world.records(topic)).map(({ value }) => String(value));
    expect(called).toEqual(['0,1', '2', '2']);
    expect(await values('orders.DLT')).toEqual(['1']);
    expect(await values('small')).toEqual(['0', '2']);
    expect(await world.committed()).toBe(3);
  });
});

describe('what is sent', () => {
  it('has no headers of the bus, which tell of another record', async () => {
    @Injectable()
    class Copying {
      @EventHandler('orders')
      handle({ value }: EventRecord, { transaction }: EventContext): void {
        const headers = ['x-eventbus-original-topic', 'mine'].map((key) => ({ key, value: 'x' }));
        transaction.send({ topic: 'out', value: String(value), headers });
      }
    }
    await start({ provider: Copying });
    await world.write('orders', '1');
    await world.runtime.advance(1_000);
    const [sent] = await world.records('out');
    expect(sent?.headers.map(({ key }) => key)).toEqual(['mine']);
  });

  it('after its handler has returned is refused: it could not count with the record any more', async () => {
    const kept: EventContext[] = [];
    @Injectable()
    class Late {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        kept.push(context);
      }
    }
    await start({ provider: Late });
    await world.write('orders', '0');
    await world.runtime.advance(1_000);
    const late = (): void => kept[0]!.transaction.send({ topic: 'out', value: 'late' });
    expect(late).toThrow('came after the handler had returned');
    expect([await outputs(), await world.committed()]).toEqual([[], 1]);
  });

  it('before a record was acknowledged counts, even if the handler throws after it', async () => {
    @Injectable()
    class Hasty {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        context.transaction.send({ topic: 'out', value: 'sent' });
        context.acknowledge();
        throw new Error('too late');
      }
    }
    await start({ provider: Hasty });
    await world.write('orders', '0');
    await world.runtime.advance(1_000);
    expect([await outputs(), await world.committed()]).toEqual([['sent'], 1]);
  });
});

describe('a binding that is stopped and started', () => {
  it('goes on with its transactions, and closes the producers that it had', async () => {
    const open = new Set<unknown>();
    const able = memory({ broker: world.broker, clientId: 'bus' });
    const driver: BrokerDriver = {
      name: able.name,
      capabilities: able.capabilities,
      consumer: (options) => able.consumer(options),
      admin: () => able.admin(),
      close: () => able.close(),
      producer: (options) => {
        const producer = able.producer(options);
        const close = producer.close.bind(producer);
        if (options?.transactionalId) open.add(producer);
        return Object.assign(producer, {
          close: () => {
            open.delete(producer);
            return close();
          },
        });
      },
    };
    const transactions = { enabled: true };
    const application = await world.startOrders([Orders], { ...quick, transactions }, { driver });
    const lifecycle = application.get(LifecycleManager);
    for (const value of ['0', '1']) {
      await world.write('orders', value);
      await world.runtime.advance(500);
      expect(open.size).toBe(1 + TIERS);
      await world.done(lifecycle.stop('orders'));
      expect(open.size).toBe(0);
      await world.done(lifecycle.start('orders'));
      await world.runtime.advance(500);
    }
    expect([await outputs(), await world.committed()]).toEqual([written(2), 2]);
  });
});

describe('an ordinary commit of records that left for another topic', () => {
  it('is stored before the next transaction begins, and so never takes it back', async () => {
    act = (value) => {
      if (value === '0') throw new Error('never');
    };
    await world.topic('orders.DLT');
    const late = world.broker.faults.delayRequests({ operation: 'commit' }, 2_000, { times: 1 });
    await start({
      properties: { ackMode: 'MANUAL', retry: { tiers: [], tier0: { maxAttempts: 1 } } },
    });
    await world.write('orders', '0');
    await world.runtime.advance(500);
    expect(late.hits).toBe(1);
    await world.write('orders', '1', '2');
    await world.runtime.advance(10_000);
    expect(await outputs()).toEqual(['1', '2']);
    expect(await world.committed()).toBe(3);
  });
});

describe('a transaction that fails', () => {
  it.each([
    ['while its records are written', 'produce'],
    ['while the offsets are sent', 'commit-offsets-in-transaction'],
    ['while it is committed', 'end-transaction'],
  ] as const)('%s, is aborted, and its records are handled again', async (_, operation) => {
    const fault = world.broker.faults.refuse(
      { operation, clientId: 'bus' },
      'CLUSTER_AUTHORIZATION_FAILED',
      { times: 1 },
    );
    await world.write('orders', ...written(3));
    await start();
    await world.runtime.advance(90_000);
    expect(fault.hits).toBe(1);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
    expect(await world.topicNames()).toEqual(['orders', 'out']);
  });

  it.each([
    ['is there', 'loseAnswers'],
    ['is not there', 'loseRequests'],
  ] as const)('nobody guesses: a commit of which no answer came %s', async (_, lose) => {
    const fault = world.broker.faults[lose]({ operation: 'end-transaction', clientId: 'bus' });
    await world.write('orders', ...written(3));
    await start();
    await world.runtime.advance(50_000);
    expect(fault.hits).toBeGreaterThan(3);
    fault.lift();
    await world.runtime.advance(90_000);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
  });
});

describe('a commit that came through while nothing was heard of it', () => {
  it('is found out by what the group has: nothing is handled twice', async () => {
    const end = { operation: 'end-transaction', clientId: 'bus' } as const;
    const lost = world.broker.faults.loseAnswers(end, { times: 1 });
    await start();
    await world.write('orders', '0');
    expect(lost.hits).toBe(1);
    const cut = world.broker.faults.unplug(end);
    await world.runtime.advance(60_000);
    cut.lift();
    await world.write('orders', '1');
    await world.runtime.advance(10_000);
    expect([called, await outputs()]).toEqual([written(2), written(2)]);
    expect(await world.committed()).toBe(2);
  });
});

describe('a process that dies between its records and their commit', () => {
  const dies = async (name: string): Promise<void> => {
    world.broker.faults.loseRequests({ operation: 'end-transaction', clientId: name });
    await world.write('orders', ...written(3));
    await start({ name });
    await world.runtime.advance(500);
    expect(called).toEqual(written(3));
    world.broker.faults.unplug({ clientId: name });
  };

  it('left nothing: when it comes back it aborts what was open, and goes on at once', async () => {
    await dies('first');
    expect(await outputs()).toEqual([]);
    await start({ name: 'first, again' });
    // The dead member's session, and no transaction's time-out.
    await world.runtime.advance(8_000);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
  });

  it('left nothing: whoever else takes over waits until the cluster has aborted it', async () => {
    await dies('first');
    await start({ name: 'second', idPrefix: 'second-' });
    await world.runtime.advance(60_000);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(3);
  });
});

describe('a member whose partition somebody else has', () => {
  it('commits nothing, whatever its handler has sent', async () => {
    const gate = new Deferred();
    act = () => (called.length === 1 ? gate.promise : undefined);
    await start({ name: 'zombie' });
    await world.write('orders', '0');
    expect(called).toEqual(['0']);
    const deaf = world.broker.faults.dropHeartbeats({ clientId: 'zombie' });
    await start({ name: 'second', idPrefix: 'second-' });
    await world.runtime.advance(10_000);
    expect([called, await outputs()]).toEqual([['0', '0'], ['0']]);
    gate.resolve();
    await world.runtime.advance(5_000);
    deaf.lift();
    await world.runtime.advance(30_000);
    expect(await outputs()).toEqual(['0']);
    expect(await world.committed()).toBe(1);
  });

  it('nor where it has the partition again by then: the record is handled once more, and counts once', async () => {
    const gate = new Deferred();
    act = () => (called.length === 1 ? gate.promise : undefined);
    await start();
    await world.write('orders', '0');
    const [member] = await world.members();
    world.broker.faults.expireSession('shop', member!.memberId);
    await world.runtime.advance(10_000);
    expect(await world.members()).toHaveLength(1);
    gate.resolve();
    await world.runtime.advance(30_000);
    expect([called, await outputs()]).toEqual([['0', '0'], ['0']]);
    expect(await world.committed()).toBe(1);
  });

  it('is refused by the broker where it has not heard of it yet', async () => {
    const late = world.broker.faults.delayRequests(
      { operation: 'commit-offsets-in-transaction', clientId: 'zombie' },
      9_000,
      { times: 1 },
    );
    world.broker.faults.dropHeartbeats({ clientId: 'zombie' });
    await start({ name: 'zombie' });
    await world.write('orders', '0');
    expect(late.hits).toBe(1);
    await start({ name: 'second', idPrefix: 'second-' });
    await world.runtime.advance(60_000);
    expect(await outputs()).toEqual(['0']);
    expect(await world.committed()).toBe(1);
  });

  it('and rebalances in between double nothing', async () => {
    const moved: TestingModule[] = [];
    act = () => world.runtime.advance(20);
    await start({ name: 'stays' });
    for (let round = 0; round < 6; round++) {
      const values = Array.from({ length: 10 }, (_, index) => `${round}-${index}`);
      await world.write(
        'orders',
        ...values.map((value, index) => ({ value: `"${value}"`, partition: index % 2 })),
      );
      const name = `comes-${round}`;
      moved.push(await start({ name, idPrefix: `${name}-` }));
      await world.runtime.advance(300);
      if (round % 2 === 1) for (const each of moved.splice(0)) await world.done(each.close());
    }
    await world.runtime.advance(30_000);
    const all = await outputs();
    expect(all).toHaveLength(60);
    expect(new Set(all).size).toBe(60);
    expect(await world.committed('shop', 0)).toBe(30);
    expect(await world.committed('shop', 1)).toBe(30);
  });
});

describe('with an idempotency store', () => {
  it('a record is marked after its transaction, so that none is lost that was aborted', async () => {
    world.broker.faults.refuse(
      { operation: 'commit-offsets-in-transaction' },
      'CLUSTER_AUTHORIZATION_FAILED',
      { times: 1 },
    );
    const store = memoryIdempotencyStore({ runtime: world.runtime });
    const twice = (id: string) => ({ value: id, headers: [{ key: 'id', value: id }] });
    await world.write('orders', ...['0', '1', '0', '2', '1'].map(twice));
    await start({ properties: { idempotency: { store, key: { header: 'id' } } } });
    await world.runtime.advance(90_000);
    expect(await outputs()).toEqual(written(3));
    expect(await world.committed()).toBe(5);
  });
});

describe('transactions.idPrefix', () => {
  it("is 'eventbus-' by default; two processes of one host that share it fence each other", async () => {
    await start({ name: 'first' });
    await start({ name: 'second' });
    await world.write('orders', { value: '0', partition: 0 }, { value: '1', partition: 1 });
    await world.runtime.advance(60_000);
    expect(world.said.warnings.join()).toContain('A transaction was fenced');
    expect((await outputs()).toSorted()).toEqual(['0', '1']);
  });

  it('of its own lets each have its transactions', async () => {
    await start({ name: 'first', idPrefix: 'first-' });
    await start({ name: 'second', idPrefix: 'second-' });
    await world.write('orders', { value: '0', partition: 0 }, { value: '1', partition: 1 });
    await world.runtime.advance(60_000);
    expect(world.said.warnings.join()).not.toContain('A transaction was fenced');
    expect((await outputs()).toSorted()).toEqual(['0', '1']);
  });
});

describe('a driver without transactions', () => {
  it('is refused before anything starts', async () => {
    const able = memory({ broker: world.broker });
    const capabilities = { ...able.capabilities, transactions: false };
    const driver = Object.assign(Object.create(able) as typeof able, { capabilities });
    const error = await errorOf(
      world.startOrders([Orders], { transactions: { enabled: true } }, { driver }),
    );
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    expect(String(error)).toContain("driver 'memory' of cluster 'default' has no transactions");
  });
});
