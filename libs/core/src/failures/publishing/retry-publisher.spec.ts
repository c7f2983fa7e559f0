import { RetryPublishException } from '../../errors/publish-errors.js';
import { readRetryHistory } from '../../model/records/retry-history.js';
import { PublishingTestBed } from './publishers.spec-support.js';
import { RecordTooLargeForRetryError, RetryPublisher } from './retry-publisher.js';
import {
  headers,
  recordOf,
  aFailureReport,
} from '../report/failure-report-samples.spec-support.js';

const RETRY = 'orders.events.retry-1';
const TO = { kind: 'retry', tier: 1, topic: RETRY, delivery: 2 } as const;

let testBed: PublishingTestBed;

beforeEach(() => {
  testBed = new PublishingTestBed();
});
afterEach(() => testBed.end());

const publisher = (...given: Parameters<PublishingTestBed['parts']>): RetryPublisher =>
  new RetryPublisher(testBed.parts(...given));

describe('RetryPublisher', () => {
  it.each([
    ['bytes that are no text', Buffer.from([255, 254]), Buffer.from([0, 255, 128])],
    ['a tombstone', Buffer.from('k'), null],
    ['no key', null, Buffer.from('v')],
    ['empty key and value', Buffer.alloc(0), Buffer.alloc(0)],
  ])('keeps %s', async (_, key, value) => {
    await testBed.topic(RETRY);
    const brought = headers([
      ['a', '1'],
      ['a', Buffer.from([255])],
    ]);
    const report = aFailureReport({ record: recordOf({ key, value, headers: brought }) });
    await testBed.done(publisher().publish(report, TO));
    const [record] = await testBed.records(RETRY);
    expect([record?.key, record?.value]).toEqual([key, value]);
    expect(record?.headers.slice(0, 2)).toEqual(brought);
  });

  it('writes the history that its tier reads, with the present time', async () => {
    await testBed.topic(RETRY);
    await testBed.runtime.advance(3_000);
    await testBed.done(publisher().publish(aFailureReport(), TO));
    const [record] = await testBed.records(RETRY);
    expect(testBed.runtime.now() - record!.timestamp).toBeLessThan(1_000);
    expect(readRetryHistory(record!, 1)).toMatchObject({ tier: 1, delivery: 2, totalAttempts: 3 });
  });

  it('writes records with one key to one partition', async () => {
    await testBed.topic(RETRY, undefined, 8);
    const retries = publisher();
    for (const key of ['a', 'b', 'c', 'a', 'b', 'c', 'a'])
      await testBed.done(
        retries.publish(aFailureReport({ record: recordOf({ key: Buffer.from(key) }) }), TO),
      );
    const partitions = new Map<string, Set<number>>();
    for (const { key, partition } of await testBed.records(RETRY)) {
      const name = key!.toString();
      partitions.set(name, (partitions.get(name) ?? new Set()).add(partition));
    }
    expect([...partitions.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
  });
});

describe('RetryPublisher with a record that is too large', () => {
  const description = { className: 'A', message: 'm'.repeat(900), stack: 's'.repeat(2_000) };

  it('removes the headers that the next reader does not need', async () => {
    await testBed.topic(RETRY, 1_200);
    const retries = publisher({ headerProfile: ['spring'] });
    await testBed.done(retries.publish(aFailureReport({ description }), TO));
    const [record] = await testBed.records(RETRY);
    expect(readRetryHistory(record!, 1)).toMatchObject({ delivery: 2, totalAttempts: 3 });
    expect(testBed.lines).toMatchObject([{ level: 'warn', context: { to: RETRY } }]);
  });

  it('rejects with RecordTooLargeForRetryError if even the control headers do not fit', async () => {
    await testBed.topic(RETRY, 400);
    const error = await testBed.failureOf(publisher().publish(aFailureReport({ description }), TO));
    expect(error).toBeInstanceOf(RecordTooLargeForRetryError);
    expect(error.message).toContain(`does not fit into retry topic '${RETRY}'`);
    expect(await testBed.records(RETRY)).toEqual([]);
    expect(testBed.publishProblems.all).toEqual([]);
  });
});

describe('RetryPublisher with a topic that takes no record', () => {
  it('rejects within dlt.publishTimeoutMs, says why, and reports a problem until a write succeeds', async () => {
    const retries = publisher({ publishTimeoutMs: 1_000 });
    const error = await testBed.failureOf(retries.publish(aFailureReport(), TO));
    expect(error).toBeInstanceOf(RetryPublishException);
    expect(error).toMatchObject({ code: 'RETRY_PUBLISH', retriable: true });
    expect(error.message).toContain(
      `A retry of binding 'orders' (orders.events-3-17) could not be written to topic '${RETRY}'.`,
    );
    expect(testBed.publishProblems.all).toMatchObject([{ topic: RETRY, error }]);
    await testBed.topic(RETRY);
    await testBed.done(retries.publish(aFailureReport(), TO));
    expect(testBed.publishProblems.all).toEqual([]);
  });

  it('keeps the problems of other topics when it succeeds', async () => {
    await testBed.topic(RETRY);
    testBed.publishProblems.failed('orders.events.DLT', new Error('gone'));
    await testBed.done(publisher().publish(aFailureReport(), TO));
    expect(testBed.publishProblems.all).toMatchObject([{ topic: 'orders.events.DLT' }]);
  });
});
