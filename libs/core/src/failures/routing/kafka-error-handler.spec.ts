import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { BrokerRecord } from '@nest-event-bus/broker';
import { UnknownClusterException } from '../../errors/container-errors.js';
import { DltPublishException } from '../../errors/publish-errors.js';
import { KafkaErrorHandler, type KafkaErrorHandlerOptions } from './kafka-error-handler.js';
import { headerText } from '../../model/records/header-text.js';
import { readDeadLetter } from '../headers/read-dead-letter.js';
import { headers, recordOf, shown } from '../report/failure-report-samples.spec-support.js';

let runtime: VirtualRuntime;
let driver: ReturnType<typeof memory>;
let handler: KafkaErrorHandler;

const EMAILS = 'unraveldocs-emails';

async function done<T>(work: Promise<T>): Promise<T> {
  const seen = { isDone: false };
  const watched = work.finally(() => (seen.isDone = true));
  watched.catch(() => undefined);
  for (let tries = 0; tries < 2_000 && !seen.isDone; tries++) await runtime.advance(50);
  return watched;
}

async function written(topic: string): Promise<BrokerRecord[]> {
  const found: BrokerRecord[] = [];
  const admin = driver.admin();
  const read = async (): Promise<void> => {
    for await (const record of admin.readRange(topic, 0, 0, 99)) found.push(record);
  };
  await done(read());
  return found;
}

beforeEach(async () => {
  runtime = new VirtualRuntime({ startAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6) });
  driver = memory({ broker: new MemoryBroker({ runtime }) });
  const topics = [EMAILS, `${EMAILS}-retry`, `${EMAILS}-dlq`].map((name) => ({
    name,
    partitions: 1,
  }));
  await done(driver.admin().createTopics(topics));
  const producer = driver.producer({ lingerMs: 0 });
  handler = new KafkaErrorHandler({ producer: () => producer, runtime });
});

afterEach(() => done(driver.close()));

const failure = new RangeError('no such address');
const record = (given: Partial<BrokerRecord> = {}) => recordOf({ topic: EMAILS, ...given });

it.each([
  [EMAILS, `${EMAILS}-retry`],
  ['unraveldocs-documents', 'unraveldocs-documents-retry'],
  ['unraveldocs-payments', 'unraveldocs-payments-retry'],
  ['unraveldocs-users', 'unraveldocs-users-retry'],
  ['unraveldocs-ocr', null],
  ['constructor', null],
])('getRetryTopic() returns for %s the topic %s', (source, expected) => {
  expect(handler.getRetryTopic(source)).toBe(expected);
});

it('KafkaErrorHandler keeps the headers of the producer, also those with names of its own headers', async () => {
  const original = headers([
    ['retry-count', '7'],
    ['trace', 'a'],
    ['original-topic', 'elsewhere'],
    ['x-eventbus-archived-trace', 'of a producer'],
    ['retry-count', null],
  ]);
  await done(handler.routeToRetryOrDlq(record({ headers: original }), failure, 1));
  const [retried] = await written(`${EMAILS}-retry`);
  expect(retried!.headers.map(({ key }) => key).slice(0, original.length)).toEqual([
    'x-eventbus-archived-retry-count',
    'trace',
    'x-eventbus-archived-original-topic',
    'x-eventbus-archived-x-eventbus-archived-trace',
    'x-eventbus-archived-retry-count',
  ]);
  await done(handler.routeToRetryOrDlq(retried!, failure, 1));
  const [letter] = await written(`${EMAILS}-dlq`);
  expect(readDeadLetter(letter!)).toMatchObject({ originalTopic: EMAILS, totalAttempts: 2 });
  expect(readDeadLetter(letter!).headers).toEqual(original);
});

it('routeToDlq() writes to <topic>-dlq with all five headers, and changes nothing else', async () => {
  const given = record({
    headers: headers([
      ['trace', 'a'],
      ['trace', 'b'],
      ['none', null],
    ]),
  });
  expect(await done(handler.routeToDlq(given, failure))).toBe(`${EMAILS}-dlq`);
  const [letter] = await written(`${EMAILS}-dlq`);
  expect([letter!.key, letter!.value]).toEqual([given.key, given.value]);
  expect(shown(letter!.headers)).toEqual({
    trace: ['a', 'b'],
    none: 'null',
    'original-topic': EMAILS,
    'exception-message': 'no such address',
    'exception-class': 'RangeError',
    'failure-timestamp': expect.stringMatching(/^2026-01-02T03:04:\d\d\.\d{3}Z$/),
    'retry-count': '0',
  });
});

it('routeToRetryOrDlq() writes to the retry topic up to maxRetries times, and counts the retries', async () => {
  const went: string[] = [];
  let next: BrokerRecord = record();
  for (let failures = 0; failures < 3; failures++) {
    const topic = await done(handler.routeToRetryOrDlq(next, failure, 2));
    went.push(topic);
    next = (await written(topic)).at(-1)!;
  }
  expect(went).toEqual([`${EMAILS}-retry`, `${EMAILS}-retry`, `${EMAILS}-dlq`]);
  expect(shown(next.headers)).toMatchObject({ 'retry-count': '2', 'original-topic': EMAILS });
});

it('routeToRetryOrDlq() dead-letters records of a topic that has no retry topic', async () => {
  await done(driver.admin().createTopics([{ name: 'other-dlq', partitions: 1 }]));
  const other = record({ topic: 'other' });
  expect(await done(handler.routeToRetryOrDlq(other, failure, 9))).toBe('other-dlq');
});

describe('The retry headers of a record', () => {
  const retriedRecord = (topic: string, original: string, count: string) =>
    record({
      topic,
      headers: headers([
        ['original-topic', original],
        ['retry-count', count],
      ]),
    });

  it.each([
    [
      'of a record in the retry topic of its original topic',
      retriedRecord(`${EMAILS}-retry`, EMAILS, '1'),
      '2',
    ],
    ['of a record in its original topic', retriedRecord(EMAILS, EMAILS, '1'), '2'],
  ])('are used for the count %s', async (_, given, count) => {
    expect(await done(handler.routeToRetryOrDlq(given, failure, 1))).toBe(`${EMAILS}-dlq`);
    expect(await done(handler.routeToRetryOrDlq(given, failure, 2))).toBe(`${EMAILS}-retry`);
    const [retry] = await written(`${EMAILS}-retry`);
    expect(shown(retry!.headers)).toMatchObject({
      'original-topic': EMAILS,
      'retry-count': count,
    });
  });

  it('are not used for the count if the original topic is missing', async () => {
    const given = record({ headers: headers([['retry-count', '9']]) });
    expect(await done(handler.routeToRetryOrDlq(given, failure, 1))).toBe(`${EMAILS}-retry`);
  });

  it('are not used for the count if they were copied from a record of another topic', async () => {
    const payments = 'unraveldocs-payments';
    const topics = [`${payments}-retry`, `${payments}-dlq`, 'orders-dlq'];
    await done(driver.admin().createTopics(topics.map((name) => ({ name, partitions: 1 }))));
    const copied = retriedRecord(payments, EMAILS, '9');
    expect(await done(handler.routeToRetryOrDlq(copied, failure, 1))).toBe(`${payments}-retry`);
    expect(await done(handler.routeToDlq(copied, failure))).toBe(`${payments}-dlq`);
    const unmapped = retriedRecord('orders', EMAILS, '0');
    expect(await done(handler.routeToRetryOrDlq(unmapped, failure, 1))).toBe('orders-dlq');
    const [retry] = await written(`${payments}-retry`);
    expect(shown(retry!.headers)).toMatchObject({
      'original-topic': payments,
      'retry-count': '1',
    });
    const [letter] = await written('orders-dlq');
    expect(shown(letter!.headers)).toMatchObject({
      'original-topic': 'orders',
      'retry-count': '0',
    });
  });
});

it('routeToDlq() rejects if the record was not written', async () => {
  await expect(done(handler.routeToDlq(record({ topic: 'gone' }), failure))).rejects.toThrow(
    DltPublishException,
  );
});

describe('KafkaErrorHandlerOptions', () => {
  const ownHandler = (options: KafkaErrorHandlerOptions) => {
    const asked: (string | undefined)[] = [];
    const producer = driver.producer({ lingerMs: 0 });
    const own = new KafkaErrorHandler({
      producer: (cluster) => {
        asked.push(cluster);
        return producer;
      },
      runtime,
      options: () => options,
    });
    return { own, asked };
  };

  it('replace the map of retry topics', () => {
    const { own } = ownHandler({ retryTopics: { orders: 'orders-again' } });
    expect([own.getRetryTopic('orders'), own.getRetryTopic(EMAILS)]).toEqual([
      'orders-again',
      null,
    ]);
    expect(own.getRetryTopic('constructor')).toBeNull();
  });

  it('choose the cluster', async () => {
    const { own, asked } = ownHandler({ cluster: 'europe' });
    await done(own.routeToDlq(record(), failure));
    expect(asked).toEqual(['europe']);
  });

  it.each<[KafkaErrorHandlerOptions, string]>([
    [{ exceptionDetail: 'class' }, ''],
    [{ redact: () => ({ message: '***' }) }, '***'],
  ])("limit the length of an exception's text: %j", async (options, message) => {
    await done(ownHandler(options).own.routeToDlq(record(), failure));
    const [letter] = await written(`${EMAILS}-dlq`);
    expect(shown(letter!.headers)).toMatchObject({
      'exception-message': message,
      'exception-class': 'RangeError',
    });
  });
});

it('the error of routeToDlq() says why the record could not be written', async () => {
  const broken = new KafkaErrorHandler({
    producer: () => {
      throw new UnknownClusterException('eu', []);
    },
    runtime,
  });
  await expect(done(broken.routeToDlq(record(), failure))).rejects.toThrow('There is no cluster');
});

describe('retryFromDlq()', () => {
  const original = headers([
    ['trace', 'a'],
    ['retry-count', '7'],
  ]);

  it('writes the record to its original topic, with one retry more', async () => {
    await done(handler.routeToDlq(record({ headers: original }), failure));
    const [letter] = await written(`${EMAILS}-dlq`);
    expect(await done(handler.retryFromDlq(letter!))).toBe(true);
    const [retried] = await written(EMAILS);
    expect(retried).toMatchObject({ key: letter!.key, value: letter!.value });
    expect(headerText(retried!.headers, 'trace')).toBe('a');
    expect(headerText(retried!.headers, 'retry-count')).toBe('1');
    // The count survives another failure, so that a limit ends the circle.
    await done(handler.routeToRetryOrDlq(retried!, failure, 1));
    const [, again] = await written(`${EMAILS}-dlq`);
    expect(headerText(again!.headers, 'retry-count')).toBe('1');
    expect(readDeadLetter(again!).headers).toEqual(original);
    expect(again!.headers).toHaveLength(letter!.headers.length);
  });

  it.each<[string, Parameters<typeof headers>[0]]>([
    ['has no header original-topic', [['trace', 'a']]],
    ['names no legal topic', [['original-topic', 'a b']]],
    ['names a topic that does not exist', [['original-topic', 'missing']]],
    ['names its own topic', [['original-topic', `${EMAILS}-dlq`]]],
  ])('resolves with false if the record %s', async (_, given) => {
    const letter = record({ topic: `${EMAILS}-dlq`, headers: headers(given) });
    expect(await done(handler.retryFromDlq(letter))).toBe(false);
  });
});
