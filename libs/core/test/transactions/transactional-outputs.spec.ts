import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import {
  TransactionTestBus,
  valueOf,
  valuesUpTo,
} from '../support/transaction-test-bus.spec-support.js';

let testBus: TransactionTestBus;

beforeEach(async () => {
  testBus = await TransactionTestBus.create();
});

afterEach(() => testBus.end());

const countsOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').mainContainer.counts;

describe('transactions.enabled', () => {
  it('is false by default, and a handler that wants a transaction gets an error', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class TransactionWithoutOption {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        try {
          context.transaction.send({ topic: 'out', value: 'v' });
        } catch (error) {
          seen.push(error);
        }
      }
    }
    await testBus.startOrders([TransactionWithoutOption]);
    await testBus.write('orders', '1');
    expect(String(seen[0])).toContain("Binding 'orders' has no transactions: set");
    expect(await testBus.outputs()).toEqual([]);
  });

  it.each(['recordHandler', 'batchHandler'] as const)(
    'commits the outputs and the offsets of a whole slice together: %s',
    async (handler) => {
      const ends = testBus.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
      const commits = testBus.broker.faults.delayAnswers({ operation: 'commit' }, 1);
      await testBus.write('orders', ...valuesUpTo(40));
      const application = await testBus.startProcess({ provider: testBus[handler]() });
      await testBus.runtime.advance(2_000);
      expect(await testBus.outputs()).toEqual(valuesUpTo(40));
      expect(await testBus.committed()).toBe(40);
      expect([ends.hits, commits.hits]).toEqual([1, 0]);
      expect(countsOf(application)).toMatchObject({ received: 40, succeeded: 40, inFlight: 0 });
    },
  );

  it('commits the batches of several handlers of one slice together', async () => {
    const take = (records: readonly EventRecord[], contexts: readonly EventContext[]): void => {
      testBus.called.push(records.map(valueOf).join());
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
    const ends = testBus.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
    const typed = ['A', 'A', 'B', 'A'].map((type, index) => ({
      value: `${index}`,
      headers: [{ key: 'event-type', value: Buffer.from(type) }],
    }));
    await testBus.write('orders', ...typed);
    await testBus.startProcess({ provider: TwoTypes });
    await testBus.runtime.advance(2_000);
    expect(testBus.called).toEqual(['0,1', '2', '3']);
    expect([await testBus.outputs(), await testBus.committed(), ends.hits]).toEqual([
      valuesUpTo(4),
      4,
      1,
    ]);
  });

  it('hides outputs and offsets until the handler has ended', async () => {
    const gate = new Deferred();
    testBus.act = () => gate.promise;
    await testBus.startProcess();
    await testBus.write('orders', '0');
    await testBus.runtime.advance(40_000);
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([[], 0]);
    gate.resolve();
    await testBus.runtime.advance(1_000);
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([['0'], 1]);
  });

  it('does not let a slow handler delay the outputs of earlier records', async () => {
    const gate = new Deferred();
    testBus.act = async (value) => {
      if (value === '1') await testBus.runtime.advance(100);
      if (value === '2') await gate.promise;
    };
    await testBus.write('orders', ...valuesUpTo(4));
    await testBus.startProcess();
    await testBus.runtime.advance(1_000);
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([['0', '1'], 2]);
    gate.resolve();
    await testBus.runtime.advance(1_000);
    expect(await testBus.outputs()).toEqual(valuesUpTo(4));
  });

  it('commits a record without outputs by an ordinary offset commit', async () => {
    const ends = testBus.broker.faults.delayAnswers({ operation: 'end-transaction' }, 1);
    await testBus.startProcess({ provider: testBus.handlerWithoutOutput() });
    await testBus.write('orders', '0', '1');
    await testBus.runtime.advance(1_000);
    expect([await testBus.committed(), ends.hits]).toEqual([2, 0]);
  });
});

describe('A failed call', () => {
  it('leaves no output: each record has one output', async () => {
    testBus.act = (value, call) => {
      if (value === '1' && call < 3) throw new Error('not yet');
    };
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess();
    await testBus.runtime.advance(5_000);
    expect(testBus.called).toEqual(['0', '1', '1', '1', '2']);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(3);
  });

  it('does not duplicate the outputs of other records of its batch', async () => {
    testBus.act = (value, call) => {
      if (value === '1' && call < 2) throw new Error('not yet');
    };
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess({ provider: testBus.batchHandler() });
    await testBus.runtime.advance(30_000);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(3);
  });

  it('dead-letters its record after the last attempt and keeps the outputs of the others', async () => {
    testBus.act = (value) => {
      if (value === '1') throw new Error('never');
    };
    await testBus.topic('orders.DLT');
    await testBus.write('orders', ...valuesUpTo(4));
    await testBus.startProcess({ properties: { retry: { tiers: [], tier0: { maxAttempts: 1 } } } });
    await testBus.runtime.advance(5_000);
    expect((await testBus.records('orders.DLT')).map(({ value }) => String(value))).toEqual(['1']);
    expect(await testBus.outputs()).toEqual(['0', '2', '3']);
    expect(testBus.called).toEqual(valuesUpTo(4));
    expect(await testBus.committed()).toBe(4);
  });

  it('is repeated in a retry topic, whose tier has its own transactions', async () => {
    let failures = 0;
    testBus.act = (value) => {
      if (value === '1' && failures++ < 1) throw new Error('later');
    };
    await testBus.topic('orders.retry-1');
    await testBus.topic('orders.DLT');
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess({
      properties: { retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] } },
    });
    await testBus.runtime.advance(20_000);
    expect((await testBus.outputs()).toSorted()).toEqual(valuesUpTo(3));
    expect(testBus.called).toEqual(['0', '1', '2', '1']);
  });

  it('affects only its own record if its output is too large', async () => {
    const admin = testBus.outside.admin();
    await testBus.done(
      admin.createTopics([
        { name: 'small', partitions: 1, config: { 'max.message.bytes': '500' } },
      ]),
    );
    @Injectable()
    class Large {
      @EventHandler('orders')
      handle(record: EventRecord, { transaction }: EventContext): void {
        const value = valueOf(record);
        testBus.called.push(value);
        transaction.send({ topic: 'small', value: value === '1' ? 'x'.repeat(2_000) : value });
      }
    }
    await testBus.topic('orders.DLT');
    await testBus.write('orders', ...valuesUpTo(3));
    await testBus.startProcess({ provider: Large });
    await testBus.runtime.advance(10_000);
    expect((await testBus.records('small')).map(({ value }) => String(value))).toEqual(['0', '2']);
    expect((await testBus.records('orders.DLT')).map(({ value }) => String(value))).toEqual(['1']);
    expect(testBus.called.filter((value) => value !== '2')).toEqual(['0', '1']);
    expect(await testBus.committed()).toBe(3);
  });
});

describe('Records behind a record with an unwritable output', () => {
  const take = (records: readonly EventRecord[], contexts: readonly EventContext[]): void => {
    testBus.called.push(records.map(valueOf).join());
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

  it('are handled again as if for the first time', async () => {
    const config = { 'max.message.bytes': '500' };
    await testBus.done(
      testBus.outside.admin().createTopics([{ name: 'small', partitions: 1, config }]),
    );
    await testBus.topic('orders.DLT');
    const typed = ['A', 'A', 'B'].map((type, index) => ({
      value: `${index}`,
      headers: [{ key: 'event-type', value: Buffer.from(type) }],
    }));
    await testBus.write('orders', ...typed);
    await testBus.startProcess({
      provider: TwoTypes,
      properties: {
        batchFailureStrategy: 'DLQ_AND_CONTINUE',
        retry: { tier0: { maxAttempts: 1 }, tiers: [] },
      },
    });
    await testBus.runtime.advance(10_000);
    const values = async (topic: string): Promise<string[]> =>
      (await testBus.records(topic)).map(({ value }) => String(value));
    expect(testBus.called).toEqual(['0,1', '2', '2']);
    expect(await values('orders.DLT')).toEqual(['1']);
    expect(await values('small')).toEqual(['0', '2']);
    expect(await testBus.committed()).toBe(3);
  });
});

describe('A message sent in a transaction', () => {
  it('is stripped of headers of the bus, which belong to the consumed record', async () => {
    @Injectable()
    class CopyingHeaders {
      @EventHandler('orders')
      handle({ value }: EventRecord, { transaction }: EventContext): void {
        const headers = ['x-eventbus-original-topic', 'mine'].map((key) => ({ key, value: 'x' }));
        transaction.send({ topic: 'out', value: String(value), headers });
      }
    }
    await testBus.startProcess({ provider: CopyingHeaders });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const [sent] = await testBus.records('out');
    expect(sent?.headers.map(({ key }) => key)).toEqual(['mine']);
  });

  it('is refused after its handler has returned, because it cannot join the transaction any more', async () => {
    const contexts: EventContext[] = [];
    @Injectable()
    class SendingTooLate {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        contexts.push(context);
      }
    }
    await testBus.startProcess({ provider: SendingTooLate });
    await testBus.write('orders', '0');
    await testBus.runtime.advance(1_000);
    const late = (): void => contexts[0]!.transaction.send({ topic: 'out', value: 'late' });
    expect(late).toThrow('came after the handler had returned');
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([[], 1]);
  });

  it('is committed if the record was acknowledged, even if the handler throws afterwards', async () => {
    @Injectable()
    class Acknowledging {
      @EventHandler('orders')
      handle(_: EventRecord, context: EventContext): void {
        context.transaction.send({ topic: 'out', value: 'sent' });
        context.acknowledge();
        throw new Error('too late');
      }
    }
    await testBus.startProcess({ provider: Acknowledging });
    await testBus.write('orders', '0');
    await testBus.runtime.advance(1_000);
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([['sent'], 1]);
  });
});
