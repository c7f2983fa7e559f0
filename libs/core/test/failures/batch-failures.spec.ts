import type { EventRecord } from '../../src/model/records/event-record.js';
import {
  eventbusHeader,
  fail,
  RecordingTestBus,
} from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

describe('A BATCH listener', () => {
  const batch = { listenerType: 'BATCH', maxPollRecords: 10 } as const;
  const failSecond = ({ value }: EventRecord) => (value === 2 ? fail() : undefined);

  it('handles good records once with SEEK_TO_FAILED, redelivers the bad one batchRedeliveries times, and then moves it to its tier', async () => {
    testBus.handle = failSecond;
    await testBus.startHandler({
      ...batch,
      batchRedeliveries: 2,
      retry: { tier0: { maxAttempts: 1 } },
    });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(9_000);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 2, 2, 2, 3]);
    expect(await testBus.values('orders.retry-1')).toEqual(['2']);
    expect(await testBus.committed()).toBe(3);
  });

  it('dead-letters the bad record at once with batchFailureStrategy DLQ_AND_CONTINUE', async () => {
    testBus.handle = failSecond;
    await testBus.startHandler({
      ...batch,
      batchFailureStrategy: 'DLQ_AND_CONTINUE',
      retry: { tier0: { maxAttempts: 1 } },
    });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 2, 3]);
    const [letter] = await testBus.records('orders.DLT');
    expect(eventbusHeader(letter!, 'dlt-cause')).toBe('batch-failure');
    expect(await testBus.committed()).toBe(3);
  });
});
