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

  it.each([
    [0, 3],
    [1, 4],
    [2, 5],
  ])(
    'handles good records once with SEEK_TO_FAILED, and a failing one with batchRedeliveries %i in %i calls before its tier',
    async (batchRedeliveries, calls) => {
      testBus.handle = failSecond;
      await testBus.startHandler({ ...batch, batchRedeliveries });
      await testBus.write('orders', '1', '2', '3');
      await testBus.runtime.advance(5_000);
      const failing = Array.from({ length: calls }, () => 2);
      expect(testBus.calls.map(({ value }) => value)).toEqual([1, ...failing, 3]);
      expect(await testBus.values('orders.retry-1')).toEqual(['2']);
      expect(await testBus.committed()).toBe(3);
    },
  );

  it('dead-letters a failing record at once with batchFailureStrategy DLQ_AND_CONTINUE', async () => {
    testBus.handle = failSecond;
    await testBus.startHandler({ ...batch, batchFailureStrategy: 'DLQ_AND_CONTINUE' });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(0);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 2, 3]);
    const [letter] = await testBus.records('orders.DLT');
    expect(eventbusHeader(letter!, 'dlt-cause')).toBe('batch-failure');
    expect(await testBus.committed()).toBe(3);
  });
});
