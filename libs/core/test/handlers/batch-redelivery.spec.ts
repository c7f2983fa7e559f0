import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const BAD = 5;
const upTo = (end: number, from = 0) =>
  Array.from({ length: end - from }, (_, index) => from + index);

let testBus: TestBus;
let calls: { readonly values: readonly number[]; readonly at: number }[];
let failures: number;

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord<number>[]): Promise<void> {
    const values = records.map(({ value }) => value);
    calls.push({ values, at: testBus.runtime.monotonic() });
    const index = values.indexOf(BAD);
    if (index === -1 || failures === 0) return;
    failures--;
    throw new BatchProcessingException(index, 'bad', records);
  }
}

/** Starts the handler with default options, and writes one slice. */
async function handled(properties: Partial<TopicBindingProperties> = {}, waitMs = 5_000) {
  await testBus.write('orders', ...upTo(100).map(String));
  const application = await testBus.startOrders([Batches], properties);
  await testBus.runtime.advance(waitMs);
  expect(await testBus.committed()).toBe(100);
  const { counts } = application.get(ContainerRegistry).require('orders').mainContainer;
  return { slices: calls.map(({ values }) => values), counts };
}

const badCalls = () => calls.filter(({ values }) => values.includes(BAD));

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  failures = Infinity;
  for (const topic of ['orders', 'orders.retry-1', 'orders.retry-2', 'orders.retry-3'])
    await testBus.topic(topic);
  await testBus.topic('orders.DLT');
});

afterEach(() => testBus.end());

describe('A batch handler that names a failed record', () => {
  it('gets the failed record alone, and the records after it as one slice', async () => {
    const { slices, counts } = await handled();
    expect(slices).toEqual([upTo(100), [BAD], [BAD], [BAD], upTo(100, BAD + 1)]);
    expect(await testBus.records('orders.retry-1')).toHaveLength(1);
    expect(counts).toMatchObject({ succeeded: 99, retried: 1, failed: 3, inFlight: 0 });
  });

  it('gets the records after the failed one as one slice if a later call succeeds', async () => {
    failures = 1;
    const { slices, counts } = await handled();
    expect(slices).toEqual([upTo(100), [BAD], upTo(100, BAD + 1)]);
    expect(counts).toMatchObject({ succeeded: 100, failed: 1, inFlight: 0 });
  });

  it.each([
    [0, 3],
    [1, 4],
    [2, 5],
  ])(
    'gets the record %i more times with batchRedeliveries, after the calls of tier 0: %i calls',
    async (batchRedeliveries, expected) => {
      await handled({ batchRedeliveries });
      expect(badCalls()).toHaveLength(expected);
      expect(await testBus.records('orders.retry-1')).toHaveLength(1);
    },
  );

  it('waits between the calls of tier 0, and not before a redelivery by batchRedeliveries', async () => {
    await handled({ batchRedeliveries: 2 });
    const times = badCalls().map(({ at }) => at);
    const waits = times.slice(1).map((at, index) => at - times[index]!);
    expect(waits.map((wait) => wait > 0)).toEqual([true, true, false, false]);
  });

  it('gets no delay before the redelivery if tier 0 allows one call', async () => {
    await handled({ retry: { tier0: { maxAttempts: 1 } } }, 0);
    expect(calls.map(({ values }) => values.length)).toEqual([100, 1, 94]);
  });

  it('gets no second call for that record with DLQ_AND_CONTINUE, whatever number tier 0 allows', async () => {
    const { slices } = await handled({ batchFailureStrategy: 'DLQ_AND_CONTINUE' }, 0);
    expect(slices).toEqual([upTo(100), upTo(100, BAD + 1)]);
    const [letter] = (await testBus.records('orders.DLT')).map(readDeadLetter);
    expect(letter).toMatchObject({ dltCause: 'batch-failure', totalAttempts: 1 });
  });
});
