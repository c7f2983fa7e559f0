import { eventbusHeader, RecordingTestBus } from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

describe('An unreadable message', () => {
  it('is dead-lettered at once, without a call of the handler, and the partition continues', async () => {
    testBus.handle = () => undefined;
    await testBus.startHandler();
    await testBus.write('orders', '1', '{ not json', '2');
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 2]);
    const [letter] = await testBus.records('orders.DLT');
    expect(letter?.value?.toString()).toBe('{ not json');
    expect([eventbusHeader(letter!, 'dlt-reason'), eventbusHeader(letter!, 'dlt-cause')]).toEqual([
      'NON_RETRYABLE',
      'deserialization',
    ]);
    const alerts = ['part', 'format', 'exception-class', 'reason'];
    expect(alerts.map((name) => eventbusHeader(letter!, `deserialization-${name}`))).toEqual([
      'value',
      'JSON',
      'UnreadableValueError',
      'the parser refused it',
    ]);
    expect(await testBus.committed()).toBe(3);
  });

  it('is not a tombstone: a tombstone is given to the handler', async () => {
    testBus.handle = () => undefined;
    await testBus.startHandler();
    await testBus.write('orders', { key: 'k', value: null });
    await testBus.runtime.advance(1_000);
    expect(testBus.calls.map(({ value }) => value)).toEqual([null]);
    expect(await testBus.deadLetters()).toEqual([]);
  });

  it('differs from a failing tombstone, which is dead-lettered as a tombstone', async () => {
    await testBus.startHandler(once);
    await testBus.write('orders', { key: 'k', value: null });
    await testBus.runtime.advance(1_000);
    expect(await testBus.deadLetters()).toEqual([null]);
  });
});
