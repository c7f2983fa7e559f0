import {
  ClosedError,
  RecordTooLargeError,
  type ProducerSession,
  type SendOptions,
} from '@nest-event-bus/broker';
import { sleep } from '@nest-event-bus/broker/runtime';
import { resolvedOrders } from '../../config/configuration.spec-support.js';
import { DltPublisher } from './dlt-publisher.js';
import { dltRecordOf } from '../report/dlt-record-of.js';
import { readDeadLetter } from '../headers/read-dead-letter.js';
import { PublishingTestBed } from './publishers.spec-support.js';
import {
  headers,
  recordOf,
  shown,
  aFailureReport,
} from '../report/failure-report-samples.spec-support.js';

const DLT = 'orders.events.DLT';
const LETTER = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' } as const;

let testBed: PublishingTestBed;

beforeEach(() => {
  testBed = new PublishingTestBed();
});
afterEach(() => testBed.end());

const publisher = (...given: Parameters<PublishingTestBed['parts']>): DltPublisher =>
  new DltPublisher(testBed.parts(...given));

describe('DltPublisher', () => {
  beforeEach(() => testBed.topic(DLT));

  it.each([
    ['bytes that are no text', Buffer.from([255, 254]), Buffer.from([0, 255, 128])],
    ['a tombstone', Buffer.from('k'), null],
    ['no key', null, Buffer.from('v')],
    ['empty key and value', Buffer.alloc(0), Buffer.alloc(0)],
    ['neither key nor value', null, null],
  ])('writes key, value and headers unchanged: %s', async (_, key, value) => {
    const earlierHeaders = headers([
      ['a', '1'],
      ['b', null],
      ['a', Buffer.from([255])],
    ]);
    const report = aFailureReport({ record: recordOf({ key, value, headers: earlierHeaders }) });
    await testBed.done(publisher().publish(report, LETTER));
    const [letter] = await testBed.records(DLT);
    expect([letter?.key, letter?.value]).toEqual([key, value]);
    expect(letter?.headers.slice(0, 3)).toEqual(earlierHeaders);
  });

  it('writes with the present time, from which retention counts, and the original time as a header', async () => {
    await testBed.runtime.advance(5_000);
    await testBed.done(publisher().publish(aFailureReport(), LETTER));
    const [letter] = await testBed.records(DLT);
    const { timestamp, headers: all } = letter!;
    expect(testBed.runtime.now() - timestamp).toBeLessThan(1_000);
    expect(shown(all)).toMatchObject({
      'x-eventbus-dlt-timestamp': String(timestamp),
      'x-eventbus-original-timestamp': '1700000000000',
    });
  });

  it('describes a dead letter before the write exactly as it is written later', async () => {
    const letters = publisher({ headerProfile: ['eventbus', 'spring'] });
    const before = letters.describe(aFailureReport(), LETTER);
    const described = await testBed.done(letters.publish(aFailureReport(), LETTER));
    const [letter] = await testBed.records(DLT);
    expect(described).toEqual(readDeadLetter(letter!));
    expect({ ...before, dltTimestamp: described.dltTimestamp }).toEqual(described);
    expect(described.value).not.toBe(aFailureReport().record.value);
  });

  it('describes all fields of a dead letter even if some headers did not fit', async () => {
    await testBed.topic('small', 400);
    const letters = publisher({ topic: 'small' });
    const described = await testBed.done(letters.publish(aFailureReport(), LETTER));
    const hop = { kind: 'dead-letter', ...LETTER, at: described.dltTimestamp } as const;
    expect(described).toEqual(dltRecordOf(aFailureReport(), hop, ['eventbus']));
    expect(described.lastExceptionMessage).toBe('no stock');
  });

  it('writes records with the same key to the same partition', async () => {
    await testBed.topic('wide', undefined, 8);
    const letters = publisher({ topic: 'wide' });
    for (let count = 0; count < 4; count++)
      await testBed.done(
        letters.publish(aFailureReport({ originalOffset: BigInt(count) }), LETTER),
      );
    const partitions = new Set((await testBed.records('wide')).map(({ partition }) => partition));
    expect(partitions.size).toBe(1);
  });
});

describe('DltPublisher with a record that cannot be written', () => {
  it('rejects if the topic is missing, and the error says what to do', async () => {
    const error = await testBed.failureOf(
      publisher({ publishTimeoutMs: 2_000 }).publish(aFailureReport(), LETTER),
    );
    expect(error).toMatchObject({ code: 'DLT_PUBLISH', retriable: true });
    expect(error.message).toContain(`could not be written to topic '${DLT}'`);
    expect(error.cause).toBeInstanceOf(Error);
  });

  it('rejects if the broker refuses the write', async () => {
    await testBed.topic(DLT);
    testBed.broker.faults.refuse(
      { operation: 'produce', topic: DLT },
      'TOPIC_AUTHORIZATION_FAILED',
      {
        times: 1,
      },
    );
    const letters = publisher();
    const error = await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    expect(error.message).toContain('It was not written.');
    expect(error.message).toContain('Grant the permission');
    expect(await testBed.records(DLT)).toEqual([]);
    await testBed.done(letters.publish(aFailureReport(), LETTER));
    expect(await testBed.records(DLT)).toHaveLength(1);
  });

  it('rejects if the producer is closed, or cannot be created', async () => {
    const closed = (): ProducerSession => {
      throw new ClosedError('The driver was closed.');
    };
    const error = await testBed.failureOf(
      publisher({}, { producer: closed }).publish(aFailureReport(), LETTER),
    );
    expect(error.message).toContain('The driver was closed.');
  });

  it('rejects if the driver does not confirm the write', async () => {
    const producer = { send: () => Promise.resolve([]) } as unknown as ProducerSession;
    await testBed.failureOf(
      publisher({}, { producer: () => producer }).publish(aFailureReport(), LETTER),
    );
  });
});

describe('dlt.publishTimeoutMs', () => {
  const timed = async (letters: DltPublisher): Promise<readonly [number, string]> => {
    const startedAt = testBed.runtime.monotonic();
    const { message } = await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    return [testBed.runtime.monotonic() - startedAt, message];
  };

  it('is 30 s by default, and accepts any duration', () => {
    expect(resolvedOrders().dlt.publishTimeoutMs).toBe(30_000);
    expect(resolvedOrders({ dlt: { publishTimeoutMs: '5s' } }).dlt.publishTimeoutMs).toBe(5_000);
  });

  it.each([2_000, 7_000])(
    'ends a write whose answer is lost: after %d ms',
    async (publishTimeoutMs) => {
      await testBed.topic(DLT);
      testBed.broker.faults.loseAnswers({ operation: 'produce', topic: DLT });
      const [took, message] = await timed(publisher({ publishTimeoutMs }));
      expect(took).toBeGreaterThanOrEqual(publishTimeoutMs);
      expect(took).toBeLessThan(publishTimeoutMs + 100);
      expect(message).toContain('It is not known whether it was written');
    },
  );

  it('ends a write for which the driver never answers', async () => {
    const producer = { send: () => new Promise(() => undefined) } as unknown as ProducerSession;
    const letters = publisher({ publishTimeoutMs: 3_000 }, { producer: () => producer });
    const [took, message] = await timed(letters);
    expect(took).toBe(3_000);
    expect(message).toContain('It took longer than dlt.publishTimeoutMs (3000 ms)');
  });

  it('applies to all attempts together that make the record fit', async () => {
    await testBed.topic('small', 250);
    testBed.broker.faults.delayRequests({ operation: 'produce', topic: 'small' }, 400);
    const [took] = await timed(publisher({ topic: 'small', publishTimeoutMs: 1_000 }));
    expect(took).toBeLessThan(1_100);
    await testBed.runtime.advance(10_000);
    expect(await testBed.records('small')).toEqual([]);
  });

  it('prevents further attempts when it has ended', async () => {
    let sends = 0;
    const send = async (): Promise<never> => {
      sends += 1;
      await sleep(testBed.runtime, 1_500);
      throw new RecordTooLargeError('too large');
    };
    const producer = { send } as unknown as ProducerSession;
    const letters = publisher({ publishTimeoutMs: 1_000 }, { producer: () => producer });
    await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    await testBed.runtime.advance(10_000);
    expect(sends).toBe(1);
  });

  it('is passed to the producer as its send timeout', async () => {
    const seen: (SendOptions | undefined)[] = [];
    const send: ProducerSession['send'] = (_, options) => {
      seen.push(options);
      return Promise.reject(new Error('no'));
    };
    const producer = { send } as unknown as ProducerSession;
    const { signal } = new AbortController();
    const letters = publisher({ publishTimeoutMs: 3_000 }, { producer: () => producer });
    await testBed.failureOf(letters.publish(aFailureReport(), LETTER, signal));
    expect(seen).toEqual([{ timeoutMs: 3_000, signal }]);
  });
});

describe('A dlt.redact that throws', () => {
  it('is logged for each record, without the text that it should have removed', async () => {
    await testBed.topic(DLT);
    const description = { className: 'OutOfStock', isRedactionBroken: true };
    await testBed.done(publisher().publish(aFailureReport({ description }), LETTER));
    expect(testBed.lines).toMatchObject([
      {
        level: 'error',
        context: { binding: 'orders', offset: '17', exceptionClass: 'OutOfStock' },
      },
    ]);
    expect(JSON.stringify(testBed.lines)).not.toContain('no stock');
  });
});
