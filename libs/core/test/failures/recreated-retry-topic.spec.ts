import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

describe('A retry topic that is deleted and created again', () => {
  it('is read from its beginning, because its records exist nowhere else', async () => {
    await testBus.startHandler({
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 2 }] },
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    expect(await testBus.deadLetters()).toEqual(['1']);
    await testBus.done(testBus.outside.admin().deleteTopics(['orders.retry-1']));
    await testBus.topic('orders.retry-1');
    await testBus.write('orders', '2', '3');
    await testBus.runtime.advance(120_000);
    expect(await testBus.deadLetters()).toEqual(['1', '2', '3']);
  });
});
