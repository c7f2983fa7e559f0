import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { SPRING_HEADERS } from '../../src/failures/headers/spring-profile.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};

describe('A replayed record', () => {
  it.each<[string, Partial<TopicBindingProperties>]>([
    ['with an idempotency store', { idempotency: { store: memoryIdempotencyStore() } }],
    ['with transactions', { transactions: { enabled: true } }],
    ['by key', { processing: { by: 'key' } }],
    ['with other header profiles', { dlt: { headerProfile: ['spring', 'plain'] } }],
    ['with another name of the dead-letter topic', { dlt: { topicSuffix: '-dead' } }],
  ])('is handled again %s', async (_, properties) => {
    testBus = await RedriveTestBus.withLetters(['1', '2'], { ...AT_ONCE, ...properties });
    testBus.cure();
    const report = await testBus.finished(testBus.replay.replay('orders', { all: true }));
    expect(report).toMatchObject({ state: 'completed', replayed: 2 });
    await testBus.runtime.advance(5_000);
    expect(testBus.handled).toEqual([1, 2]);
    // The replayed records are done: nothing waits, and nothing is handled twice.
    const [, , ...replayed] = await testBus.records('orders');
    expect(await testBus.committed()).toBeGreaterThan(replayed.at(-1)!.offset);
    expect(testBus.health(testBus.application).status).toBe('UP');
  });
});

describe('A dead letter that Spring has written', () => {
  it('is listed with its failure, grouped and replayed', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    testBus.cure();
    const failure = {
      [SPRING_HEADERS.originalTopic]: 'orders',
      [SPRING_HEADERS.originalPartition]: int(0),
      [SPRING_HEADERS.originalOffset]: long(4711n),
      [SPRING_HEADERS.originalConsumerGroup]: 'shop',
      [SPRING_HEADERS.exceptionFqcn]: 'com.acme.OutOfStock',
    };
    const headers = [
      { key: 'tenant', value: 'acme' },
      ...Object.entries(failure).map(([key, value]) => ({ key, value })),
    ];
    await testBus.write('orders.DLT', { key: 'k', value: '7', headers });
    const { letters } = await testBus.done(testBus.replay.list('orders'));
    expect(letters).toMatchObject([
      { letter: { lastExceptionClass: 'com.acme.OutOfStock', originalOffset: 4711n } },
    ]);
    const where = { group: letters[0]!.group };
    const report = await testBus.finished(testBus.replay.replay('orders', { where }));
    expect(report).toMatchObject({ selected: 1, replayed: 1 });
    const [replayed] = await testBus.records('orders');
    expect(replayed!.headers.filter(({ key }) => key.startsWith('kafka_dlt-'))).toEqual([]);
    expect(replayed!.headers.map(({ key }) => key)).toContain('tenant');
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([7]);
  });
});
