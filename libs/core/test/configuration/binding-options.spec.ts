import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { Duration } from '../../src/config/reading/duration.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let handled: number[];
let gates: Map<number, Deferred>;

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ offset }: EventRecord): Promise<void> {
    await gates.get(Number(offset))?.promise;
    handled.push(Number(offset));
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  handle(records: readonly EventRecord[]): void {
    handled.push(records.length);
  }
}

beforeEach(async () => {
  world = new World();
  handled = [];
  gates = new Map();
  await world.topic('orders', 4);
});

afterEach(() => world.end());

const five = ['0', '1', '2', '3', '4'];

describe('ackMode', () => {
  const withTheThirdRunning = async (ackMode: string): Promise<Deferred> => {
    await world.write('orders', ...five);
    const third = new Deferred();
    gates.set(2, third);
    await world.startOrders([Orders], { ackMode });
    await world.runtime.advance(1_000);
    expect(handled).toEqual([0, 1]);
    return third;
  };

  it('MANUAL_IMMEDIATE commits each record as it is done', async () => {
    const third = await withTheThirdRunning('MANUAL_IMMEDIATE');
    expect(await world.committed()).toBe(2);
    third.resolve();
    await world.runtime.advance(1_000);
    expect(await world.committed()).toBe(5);
  });

  it('MANUAL commits with the slice', async () => {
    const third = await withTheThirdRunning('MANUAL');
    expect(await world.committed()).toBe(0);
    third.resolve();
    await world.runtime.advance(1_000);
    expect(await world.committed()).toBe(5);
  });
});

describe('concurrency', () => {
  it.each([1, 3, 4])('%i is as many members of the group', async (concurrency) => {
    const application = await world.startOrders([Orders], { concurrency });
    await world.runtime.advance(60_000);
    const members = await world.members();
    expect(members).toHaveLength(concurrency);
    const partitions = members.flatMap(({ assignment }) =>
      assignment.map((each) => each.partition),
    );
    expect(partitions.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3]);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });
});

describe('maxPollRecords', () => {
  it.each([1, 2, 5])('%i bounds a slice', async (maxPollRecords) => {
    await world.write('orders', ...five);
    await world.startOrders([Batches], { maxPollRecords });
    await world.runtime.advance(1_000);
    expect(handled.reduce((sum, length) => sum + length, 0)).toBe(5);
    expect(Math.max(...handled)).toBe(maxPollRecords);
  });
});

describe('intake.bufferBytes', () => {
  it.each([
    [undefined, 40],
    // Of four partitions, each half of whose share is 125 kB.
    [1_000_000, 5],
  ])('%p: of records of 25 kB a slice has at most %i', async (bufferBytes, most) => {
    const large = JSON.stringify('x'.repeat(25_000));
    await world.write('orders', ...Array.from({ length: 100 }, () => large));
    const options = bufferBytes === undefined ? {} : { intake: { bufferBytes } };
    await world.startOrders([Batches], { maxPollRecords: 40 }, options);
    await world.runtime.advance(5_000);
    expect(handled.reduce((sum, length) => sum + length, 0)).toBe(100);
    expect(Math.max(...handled)).toBe(most);
  });
});

describe('idleBetweenPollsMs', () => {
  it('lets time pass between one poll and the next', async () => {
    await world.write('orders', ...five);
    await world.startOrders([Batches], { maxPollRecords: 1, idleBetweenPollsMs: '10s' });
    await world.runtime.advance(5_000);
    const early = handled.length;
    expect(early).toBeLessThan(3);
    await world.runtime.advance(60_000);
    expect(handled).toHaveLength(5);
  });
});

describe('listenerType', () => {
  const many = Array.from({ length: 300 }, () => 'null');

  it('is BATCH where the handler takes whole slices: of 200 records, with a strategy for its failures', async () => {
    await world.write('orders', ...many);
    await world.startOrders([Batches], { batchFailureStrategy: 'DLQ_AND_CONTINUE' });
    await world.runtime.advance(1_000);
    expect(handled).toEqual([200, 100]);
    expect(world.said.warnings.filter((line) => line.includes('batchFailureStrategy'))).toEqual([]);
  });

  it("'BATCH' hands a slice to a handler of records one by one", async () => {
    await world.write('orders', ...five);
    await world.startOrders([Orders], { listenerType: 'BATCH' });
    await world.runtime.advance(1_000);
    expect(handled).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('offsetReset', () => {
  it.each([
    ['earliest', [0, 1]],
    ['latest', [1]],
  ])('%s decides where a new group begins', async (offsetReset, expected) => {
    await world.write('orders', 'null');
    await world.startOrders([Orders], { offsetReset });
    await world.write('orders', 'null');
    await world.runtime.advance(1_000);
    expect(handled).toEqual(expected);
  });

  it('none reads nothing where the group has no offset, and says so', async () => {
    await world.write('orders', 'null');
    const application = await world.startOrders([Orders], { offsetReset: 'none' });
    await world.runtime.advance(60_000);
    expect(handled).toEqual([]);
    const { status, bindings } = world.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons[0]).toContain('eventbus-orders: orders-0 cannot be read on');
  });

  it('matters to new groups only', async () => {
    await world.write('orders', 'null', 'null');
    const offsets = [{ topic: 'orders', partition: 0, offset: 1 }];
    await world.done(world.outside.admin().setGroupOffsets('shop', offsets));
    await world.startOrders([Orders], { offsetReset: 'latest' });
    await world.runtime.advance(1_000);
    expect(handled).toEqual([1]);
  });
});

describe('assignmentStrategy', () => {
  it.each([
    ['range', 'range'],
    ['sticky', 'sticky'],
    [['range', 'sticky'], 'range'],
  ])('%j is what the group settles on', async (assignmentStrategy, protocol) => {
    await world.startOrders([Orders], { assignmentStrategy });
    const group = await world.done(world.outside.admin().describeGroup('shop'));
    expect(group).toMatchObject({ state: 'Stable', protocol });
  });
});

describe('groupProtocol', () => {
  it.each([
    ['classic', 'sticky'],
    ['consumer', 'uniform'],
  ])("'%s' is how the group shares its partitions", async (groupProtocol, protocol) => {
    const assignmentStrategy = groupProtocol === 'classic' ? 'sticky' : undefined;
    await world.write('orders', '1');
    await world.startOrders([Orders], { groupProtocol, assignmentStrategy });
    await world.runtime.advance(1_000);
    const group = await world.done(world.outside.admin().describeGroup('shop'));
    expect(group).toMatchObject({ state: 'Stable', protocol });
    expect(handled).toEqual([0]);
    const [stored] = await world.done(world.outside.admin().groupOffsets('shop'));
    expect(stored?.offset).toBe(1);
  });
});

describe('what the broker sees of the time-outs', () => {
  /** How many such requests of the bus arrive within a minute in which nothing happens. */
  const requestsPerMinute = async (operation: 'heartbeat' | 'fetch'): Promise<number> => {
    await world.runtime.advance(10_000);
    const seen = world.broker.faults.delayRequests({ operation, clientId: 'bus' }, 0);
    await world.runtime.advance(60_000);
    seen.lift();
    return seen.hits;
  };

  it.each([
    ['2s', 30],
    ['6s', 10],
  ])('heartbeatIntervalMs %s: a beat each time', async (heartbeatIntervalMs, expected) => {
    await world.startOrders([Orders], { heartbeatIntervalMs, sessionTimeoutMs: '30s' });
    const beats = await requestsPerMinute('heartbeat');
    expect(Math.abs(beats - expected)).toBeLessThanOrEqual(1);
  });

  it.each([
    ['1s', 60],
    ['10s', 6],
  ])('pollTimeoutMs %s: a fetch waits that long for records', async (pollTimeoutMs, expected) => {
    await world.startOrders([Orders], { pollTimeoutMs });
    const fetches = await requestsPerMinute('fetch');
    expect(Math.abs(fetches - expected)).toBeLessThanOrEqual(2);
  });

  it.each([
    ['6s', 6_000],
    ['60s', 60_000],
  ])('sessionTimeoutMs %s: so long may a member be silent', async (sessionTimeoutMs, expected) => {
    await world.startOrders([Orders], { sessionTimeoutMs, heartbeatIntervalMs: '1s' });
    world.broker.faults.loseRequests({ clientId: 'bus' });
    await world.runtime.advance(expected - 2_500);
    expect(await world.members()).toHaveLength(1);
    await world.runtime.advance(4_000);
    expect(await world.members()).toHaveLength(0);
  });

  it('rebalance.drainTimeoutMs: so long a stuck handler may keep its partitions from others', async () => {
    gates.set(0, new Deferred());
    const rebalance = { drainTimeoutMs: '20s' };
    const startOne = () =>
      world.startOrders(
        [Orders],
        { rebalance, heartbeatIntervalMs: '1s' },
        { shutdown: { drainTimeoutMs: 0 } },
      );
    await startOne();
    await world.write('orders', '0');
    await startOne();
    const assigned = async (): Promise<readonly number[]> =>
      (await world.members())
        .map(({ assignment }) => assignment.length)
        .toSorted((one, other) => one - other);
    await world.runtime.advance(15_000);
    expect(await assigned()).not.toEqual([2, 2]);
    await world.runtime.advance(10_000);
    expect(await assigned()).toEqual([2, 2]);
  });
});

describe('maxPollIntervalMs', () => {
  it('is how long a handler may run before health is DOWN', async () => {
    const gate = new Deferred();
    gates.set(0, gate);
    const application = await world.startOrders([Orders], { maxPollIntervalMs: '2m' });
    await world.write('orders', '0');
    await world.runtime.advance(100_000);
    expect(world.health(application).status).toBe('UP');
    await world.runtime.advance(30_000);
    expect(world.health(application).status).toBe('DOWN');
    gate.resolve();
    await world.runtime.advance(1_000);
    expect(world.health(application).status).toBe('UP');
    expect(await world.committed()).toBe(1);
  });
});

describe('shutdown.drainTimeoutMs', () => {
  const NEVER = new Deferred();
  const startStuck = async (drainTimeoutMs: Duration) => {
    gates.set(0, NEVER);
    const application = await world.startOrders([Orders], {}, { shutdown: { drainTimeoutMs } });
    await world.write('orders', '0');
    return application;
  };
  const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
    const startedAt = world.runtime.now();
    await world.done(work());
    return world.runtime.now() - startedAt;
  };

  it.each<[Duration, number]>([
    ['2s', 2_000],
    ['20s', 20_000],
  ])('%s is how long a close waits for a handler', async (drainTimeoutMs, expected) => {
    const application = await startStuck(drainTimeoutMs);
    const taken = await timeOf(() => application.close());
    expect(taken).toBeGreaterThanOrEqual(expected);
    expect(taken).toBeLessThan(expected + 2_000);
    expect(await world.committed()).toBe(0);
  });

  it('is how long a stop waits, too', async () => {
    const application = await startStuck('3s');
    const taken = await timeOf(() => application.get(LifecycleManager).stop('orders'));
    expect(taken).toBeGreaterThanOrEqual(3_000);
    expect(taken).toBeLessThan(5_000);
  });

  it('does not hold up who has nothing to wait for', async () => {
    const application = await world.startOrders(
      [Orders],
      {},
      { shutdown: { drainTimeoutMs: '1h' } },
    );
    expect(await timeOf(() => application.close())).toBeLessThan(2_000);
  });
});
