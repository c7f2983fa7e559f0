import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { Duration } from '../../src/config/reading/duration.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
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
  testBus = new TestBus();
  handled = [];
  gates = new Map();
  await testBus.topic('orders', 4);
});

afterEach(() => testBus.end());

const five = ['0', '1', '2', '3', '4'];

describe('ackMode', () => {
  const withTheThirdRunning = async (ackMode: string): Promise<Deferred> => {
    await testBus.write('orders', ...five);
    const third = new Deferred();
    gates.set(2, third);
    await testBus.startOrders([Orders], { ackMode });
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual([0, 1]);
    return third;
  };

  it('MANUAL_IMMEDIATE commits each record when its handler has completed', async () => {
    const third = await withTheThirdRunning('MANUAL_IMMEDIATE');
    expect(await testBus.committed()).toBe(2);
    third.resolve();
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed()).toBe(5);
  });

  it('MANUAL commits when all records of the slice are completed', async () => {
    const third = await withTheThirdRunning('MANUAL');
    expect(await testBus.committed()).toBe(0);
    third.resolve();
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed()).toBe(5);
  });
});

describe('concurrency', () => {
  it.each([1, 3, 4])('%i starts that many members of the group', async (concurrency) => {
    await testBus.failureTopics();
    const application = await testBus.startOrders([Orders], { concurrency });
    await testBus.runtime.advance(60_000);
    const members = await testBus.members();
    expect(members).toHaveLength(concurrency);
    const partitions = members.flatMap(({ assignment }) =>
      assignment.map((each) => each.partition),
    );
    expect(partitions.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3]);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });
});

describe('maxPollRecords', () => {
  it.each([1, 2, 5])('%i limits the records of a slice', async (maxPollRecords) => {
    await testBus.write('orders', ...five);
    await testBus.startOrders([Batches], { maxPollRecords });
    await testBus.runtime.advance(1_000);
    expect(handled.reduce((sum, length) => sum + length, 0)).toBe(5);
    expect(Math.max(...handled)).toBe(maxPollRecords);
  });
});

describe('intake.bufferBytes', () => {
  it.each([
    [undefined, 40],
    // The four partitions share the limit, and one slice may use half of a share: 125 kB.
    [1_000_000, 5],
  ])(`%p limits a slice to %i records of 25 kB`, async (bufferBytes, most) => {
    const large = JSON.stringify('x'.repeat(25_000));
    await testBus.write('orders', ...Array.from({ length: 100 }, () => large));
    const options = bufferBytes === undefined ? {} : { intake: { bufferBytes } };
    await testBus.startOrders([Batches], { maxPollRecords: 40 }, options);
    await testBus.runtime.advance(5_000);
    expect(handled.reduce((sum, length) => sum + length, 0)).toBe(100);
    expect(Math.max(...handled)).toBe(most);
  });
});

describe('idleBetweenPollsMs', () => {
  it('pauses between one poll and the next', async () => {
    await testBus.write('orders', ...five);
    await testBus.startOrders([Batches], { maxPollRecords: 1, idleBetweenPollsMs: '10s' });
    await testBus.runtime.advance(5_000);
    const early = handled.length;
    expect(early).toBeLessThan(3);
    await testBus.runtime.advance(60_000);
    expect(handled).toHaveLength(5);
  });
});

describe('listenerType', () => {
  const many = Array.from({ length: 300 }, () => 'null');

  it('defaults to BATCH for a batch handler: 200 records per slice, and batchFailureStrategy applies', async () => {
    await testBus.write('orders', ...many);
    await testBus.startOrders([Batches], { batchFailureStrategy: 'DLQ_AND_CONTINUE' });
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual([200, 100]);
    expect(testBus.log.warnings.filter((line) => line.includes('batchFailureStrategy'))).toEqual(
      [],
    );
  });

  it('BATCH calls a record handler once per record of a slice', async () => {
    await testBus.write('orders', ...five);
    await testBus.startOrders([Orders], { listenerType: 'BATCH' });
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('offsetReset', () => {
  it.each([
    ['earliest', [0, 1]],
    ['latest', [1]],
  ])('%s decides at which offset a new group starts to read', async (offsetReset, expected) => {
    await testBus.write('orders', 'null');
    await testBus.startOrders([Orders], { offsetReset });
    await testBus.write('orders', 'null');
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual(expected);
  });

  it("'none' reads nothing while the group has no committed offset, and health reports the reason", async () => {
    await testBus.write('orders', 'null');
    const application = await testBus.startOrders([Orders], { offsetReset: 'none' });
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual([]);
    const { status, bindings } = testBus.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons[0]).toContain('eventbus-orders: orders-0 cannot be read on');
  });

  it('does not move a group that already has offsets', async () => {
    await testBus.write('orders', 'null', 'null');
    const offsets = [{ topic: 'orders', partition: 0, offset: 1 }];
    await testBus.done(testBus.outside.admin().setGroupOffsets('shop', offsets));
    await testBus.startOrders([Orders], { offsetReset: 'latest' });
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual([1]);
  });
});

describe('assignmentStrategy', () => {
  it.each([
    ['range', 'range'],
    ['sticky', 'sticky'],
    [['range', 'sticky'], 'range'],
  ])('%j is the assignment strategy that the group uses', async (assignmentStrategy, protocol) => {
    await testBus.startOrders([Orders], { assignmentStrategy });
    const group = await testBus.done(testBus.outside.admin().describeGroup('shop'));
    expect(group).toMatchObject({ state: 'Stable', protocol });
  });
});

describe('groupProtocol', () => {
  it.each([
    ['classic', 'sticky'],
    ['consumer', 'uniform'],
  ])("'%s' is the protocol of the group", async (groupProtocol, protocol) => {
    const assignmentStrategy = groupProtocol === 'classic' ? 'sticky' : undefined;
    await testBus.write('orders', '1');
    await testBus.startOrders([Orders], { groupProtocol, assignmentStrategy });
    await testBus.runtime.advance(1_000);
    const group = await testBus.done(testBus.outside.admin().describeGroup('shop'));
    expect(group).toMatchObject({ state: 'Stable', protocol });
    expect(handled).toEqual([0]);
    const [stored] = await testBus.done(testBus.outside.admin().groupOffsets('shop'));
    expect(stored?.offset).toBe(1);
  });
});

describe('Timeouts and intervals of a binding', () => {
  /** Returns how many requests of this kind the bus sends in a minute without records. */
  const requestsPerMinute = async (operation: 'heartbeat' | 'fetch'): Promise<number> => {
    await testBus.runtime.advance(10_000);
    const seen = testBus.broker.faults.delayRequests({ operation, clientId: 'bus' }, 0);
    await testBus.runtime.advance(60_000);
    seen.lift();
    return seen.hits;
  };

  it.each([
    ['2s', 30],
    ['6s', 10],
  ])(
    'heartbeatIntervalMs %s sends one heartbeat per interval',
    async (heartbeatIntervalMs, expected) => {
      await testBus.startOrders([Orders], { heartbeatIntervalMs, sessionTimeoutMs: '30s' });
      const heartbeats = await requestsPerMinute('heartbeat');
      expect(Math.abs(heartbeats - expected)).toBeLessThanOrEqual(1);
    },
  );

  it.each([
    ['1s', 60],
    ['10s', 6],
  ])(
    'pollTimeoutMs %s lets a fetch wait for records for that time',
    async (pollTimeoutMs, expected) => {
      await testBus.startOrders([Orders], { pollTimeoutMs });
      const fetches = await requestsPerMinute('fetch');
      expect(Math.abs(fetches - expected)).toBeLessThanOrEqual(2);
    },
  );

  it.each([
    ['6s', 6_000],
    ['60s', 60_000],
  ])(
    'sessionTimeoutMs %s removes a member from the group after that time without a heartbeat',
    async (sessionTimeoutMs, expected) => {
      await testBus.startOrders([Orders], { sessionTimeoutMs, heartbeatIntervalMs: '1s' });
      testBus.broker.faults.loseRequests({ clientId: 'bus' });
      await testBus.runtime.advance(expected - 2_500);
      expect(await testBus.members()).toHaveLength(1);
      await testBus.runtime.advance(4_000);
      expect(await testBus.members()).toHaveLength(0);
    },
  );

  it('rebalance.drainTimeoutMs limits how long a stuck handler keeps its partitions from other members', async () => {
    gates.set(0, new Deferred());
    const rebalance = { drainTimeoutMs: '20s' };
    const startOne = () =>
      testBus.startOrders(
        [Orders],
        { rebalance, heartbeatIntervalMs: '1s' },
        { shutdown: { drainTimeoutMs: 0 } },
      );
    await startOne();
    await testBus.write('orders', '0');
    await startOne();
    const assigned = async (): Promise<readonly number[]> =>
      (await testBus.members())
        .map(({ assignment }) => assignment.length)
        .toSorted((one, other) => one - other);
    await testBus.runtime.advance(15_000);
    expect(await assigned()).not.toEqual([2, 2]);
    await testBus.runtime.advance(10_000);
    expect(await assigned()).toEqual([2, 2]);
  });
});

describe('maxPollIntervalMs', () => {
  it('sets health to DOWN when a handler runs for longer than maxPollIntervalMs', async () => {
    const gate = new Deferred();
    gates.set(0, gate);
    await testBus.failureTopics();
    const application = await testBus.startOrders([Orders], { maxPollIntervalMs: '2m' });
    await testBus.write('orders', '0');
    await testBus.runtime.advance(100_000);
    expect(testBus.health(application).status).toBe('UP');
    await testBus.runtime.advance(30_000);
    expect(testBus.health(application).status).toBe('DOWN');
    gate.resolve();
    await testBus.runtime.advance(1_000);
    expect(testBus.health(application).status).toBe('UP');
    expect(await testBus.committed()).toBe(1);
  });
});

describe('shutdown.drainTimeoutMs', () => {
  const NEVER = new Deferred();
  const startStuck = async (drainTimeoutMs: Duration) => {
    gates.set(0, NEVER);
    const application = await testBus.startOrders([Orders], {}, { shutdown: { drainTimeoutMs } });
    await testBus.write('orders', '0');
    return application;
  };
  const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
    const startedAt = testBus.runtime.now();
    await testBus.done(work());
    return testBus.runtime.now() - startedAt;
  };

  it.each<[Duration, number]>([
    ['2s', 2_000],
    ['20s', 20_000],
  ])('%s limits how long close() waits for a handler', async (drainTimeoutMs, expected) => {
    const application = await startStuck(drainTimeoutMs);
    const taken = await timeOf(() => application.close());
    expect(taken).toBeGreaterThanOrEqual(expected);
    expect(taken).toBeLessThan(expected + 2_000);
    expect(await testBus.committed()).toBe(0);
  });

  it('limits how long stop() waits for a handler', async () => {
    const application = await startStuck('3s');
    const taken = await timeOf(() => application.get(LifecycleManager).stop('orders'));
    expect(taken).toBeGreaterThanOrEqual(3_000);
    expect(taken).toBeLessThan(5_000);
  });

  it('does not delay close() when no handler is running', async () => {
    const application = await testBus.startOrders(
      [Orders],
      {},
      { shutdown: { drainTimeoutMs: '1h' } },
    );
    expect(await timeOf(() => application.close())).toBeLessThan(2_000);
  });
});
