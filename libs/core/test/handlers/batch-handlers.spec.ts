import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

interface Call {
  readonly values: readonly number[];
  readonly at: number;
  readonly partition: number;
}

let testBus: TestBus;
let calls: Call[];
let act: (values: readonly number[], records: readonly EventRecord[]) => unknown;

const recordCall = (records: readonly EventRecord[]): unknown => {
  const values = records.map(({ value }) => Number(value));
  calls.push({ values, at: testBus.runtime.monotonic(), partition: records[0]!.partition });
  return act(values, records);
};

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord[]): Promise<unknown> {
    return recordCall(records);
  }
}

@Injectable()
class TwoTypes {
  @EventHandler.Batch('orders', { type: 'A' })
  async a(records: readonly EventRecord[]): Promise<unknown> {
    return recordCall(records);
  }

  @EventHandler.Batch('orders', { type: 'B' })
  async b(records: readonly EventRecord[]): Promise<unknown> {
    return recordCall(records);
  }
}

/** A handler that sends one output per record, in the transaction of that record. */
@Injectable()
class WithOutput {
  @EventHandler('orders')
  async handle(record: EventRecord, { transaction }: EventContext): Promise<unknown> {
    transaction.send({ topic: 'out', value: String(record.value) });
    return recordCall([record]);
  }
}

@Injectable()
class WithoutOutput {
  @EventHandler('orders')
  async handle(record: EventRecord): Promise<unknown> {
    return recordCall([record]);
  }
}

const start = (provider: Type<object>, properties: Partial<TopicBindingProperties>) =>
  testBus.startOrders([provider], properties);

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const written = (count: number) => upTo(count).map(String);
const handled = () => calls.flatMap(({ values }) => values);
const countsOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').mainContainer.counts;
const timeoutWarnings = (waits: string[]) =>
  waits.filter((line) => /stuck|maxPollIntervalMs/.test(line));

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  act = () => undefined;
  await testBus.topic('orders', 3);
  await testBus.topic('orders.DLT');
  await testBus.topic('out');
});

afterEach(() => testBus.end());

describe('A slice that takes longer than maxPollIntervalMs', () => {
  it.each<[string, Type<object>]>([
    ['sends an output', WithOutput],
    ['sends no output', WithoutOutput],
  ])(
    'is cut off after the current record if the binding has transactions and its handler %s',
    async (_, provider) => {
      act = () => sleep(testBus.runtime, 15_000);
      await testBus.write('orders', ...written(50));
      const application = await start(provider, { transactions: { enabled: true } });
      await testBus.runtime.advance(50 * 15_000 + 10_000);
      expect(handled()).toEqual(upTo(50));
      expect(await testBus.committed()).toBe(50);
      expect(countsOf(application)).toMatchObject({
        succeeded: 50,
        inFlight: 0,
        slicesCut: 1,
        membershipsGivenUp: 0,
      });
      expect(timeoutWarnings(testBus.log.warnings)).toEqual([]);
    },
  );

  it('is cut off after the current record if the records are retried one by one after a failure that named no record', async () => {
    act = async (values) => {
      if (values.length > 1) throw new Error('one of them');
      await sleep(testBus.runtime, 3_000);
    };
    await testBus.write('orders', ...written(40));
    const application = await start(Batches, {
      maxPollIntervalMs: 60_000,
      retry: { tiers: [], tier0: { maxAttempts: 2 } },
    });
    await testBus.runtime.advance(40 * 3_000 + 10_000);
    const singleCalls = calls.filter(({ values }) => values.length === 1);
    expect(singleCalls.flatMap(({ values }) => values)).toEqual(upTo(40));
    expect(await testBus.committed()).toBe(40);
    expect(countsOf(application)).toMatchObject({ slicesCut: 2, membershipsGivenUp: 0 });
    expect(timeoutWarnings(testBus.log.warnings)).toEqual([]);
  });
});

describe('A slice whose binding is paused', () => {
  const pauseWhileHandlerRuns = async (application: TestingModule) => {
    const gate = new Deferred();
    act = () => gate.promise;
    const types = ['A', 'B', 'A', 'B'] as const;
    const headers = (type: string) => [{ key: 'event-type', value: Buffer.from(type) }];
    const records = types.map((type, value) => ({ value: String(value), headers: headers(type) }));
    await testBus.write('orders', ...records);
    expect(handled()).toEqual([0]);
    await testBus.done(application.get(LifecycleManager).pause('orders'));
    return gate;
  };

  it('is not given to further handlers until the binding is resumed', async () => {
    const application = await start(TwoTypes, {});
    const gate = await pauseWhileHandlerRuns(application);
    gate.resolve();
    await testBus.runtime.advance(10_000);
    expect(handled()).toEqual([0]);
    expect(await testBus.committed()).toBe(1);
    await testBus.done(application.get(LifecycleManager).resume('orders'));
    await testBus.runtime.advance(1_000);
    expect(handled()).toEqual(upTo(4));
    expect(await testBus.committed()).toBe(4);
    expect(countsOf(application)).toMatchObject({ succeeded: 4, inFlight: 0 });
  });

  it('continues if the binding is resumed before the handler has ended', async () => {
    const application = await start(TwoTypes, {});
    const gate = await pauseWhileHandlerRuns(application);
    await testBus.done(application.get(LifecycleManager).resume('orders'));
    gate.resolve();
    await testBus.runtime.advance(1_000);
    expect(handled()).toEqual(upTo(4));
    expect(await testBus.committed()).toBe(4);
  });
});

describe('A slice with a failing record', () => {
  it.each([
    ['names it', true],
    ['does not name it', false],
  ])('continues at once behind the dead-lettered record if the error %s', async (_, isNamed) => {
    const isBad = (value: number) => value % 20 === 7;
    act = (values) => {
      const index = values.findIndex(isBad);
      if (index === -1) return;
      if (isNamed) throw new BatchProcessingException(index, 'bad');
      throw new Error('bad');
    };
    await testBus.write('orders', ...written(400));
    const application = await start(Batches, {
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
      maxPollRecords: 200,
      retry: { tiers: [], tier0: { maxAttempts: 1 } },
    });
    await testBus.runtime.advance(500);
    expect(await testBus.committed()).toBe(400);
    const letters = (await testBus.records('orders.DLT')).map(({ value }) => Number(value));
    expect(letters).toEqual(upTo(400).filter(isBad));
    const counts = countsOf(application);
    expect(counts).toMatchObject({ succeeded: 380, deadLettered: 20, inFlight: 0 });
    // If the error names no record, the first record of each slice is delivered a second time.
    expect(counts.received).toBe(isNamed ? 400 : 402);
  });

  it('stops at the failing record with SEEK_TO_FAILED, and handles the other partitions of the same poll once', async () => {
    const failures: BatchProcessingException[] = [];
    act = (values, records) => {
      const failedIndex = values.indexOf(12);
      if (failedIndex === -1 || failures.length === 2) return;
      const cause = new Error('the warehouse does not answer');
      const failure = new BatchProcessingException(failedIndex, 'stopped', records, { cause });
      failures.push(failure);
      throw failure;
    };
    const all = [0, 1, 2].flatMap((partition) =>
      upTo(5).map((index) => ({ partition, value: String(10 * partition + index) })),
    );
    await testBus.write('orders', ...all);
    const application = await start(Batches, {
      batchRedeliveries: 3,
      maxPollRecords: 50,
      retry: { tiers: [], tier0: { maxAttempts: 3, initialBackoffMs: 1_000 } },
    });
    const committed = async () =>
      Promise.all([0, 1, 2].map((partition) => testBus.committed('shop', partition)));
    expect(await committed()).toEqual([5, 2, 5]);
    await testBus.runtime.advance(10_000);
    expect(await committed()).toEqual([5, 5, 5]);
    const callsOf = (partition: number) =>
      calls.filter((call) => call.partition === partition).map(({ values }) => values);
    expect([callsOf(0), callsOf(2)]).toEqual([[[0, 1, 2, 3, 4]], [[20, 21, 22, 23, 24]]]);
    // The committed offsets include 10 and 11, so these records are handled once. 13 and 14 wait
    // for 12.
    expect(callsOf(1)).toEqual([[10, 11, 12, 13, 14], [12], [12], [13, 14]]);
    expect(failures.map(({ failedIndex, records }) => [failedIndex, records.length])).toEqual([
      [2, 5],
      [0, 1],
    ]);
    expect(failures[0]!.cause).toMatchObject({ message: 'the warehouse does not answer' });
    expect(countsOf(application)).toMatchObject({ succeeded: 15, failed: 2, inFlight: 0 });
  });
});
