import { describeWithKafka } from '../../support/index.js';
import {
  dlt,
  expectDeadLettered,
  expectPaused,
  expectRecovered,
  failBad,
  once,
} from '../support/expect-paused-partition.js';
import { incompressibleBytes } from '../support/incompressible-bytes.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

describeWithKafka('A failed record whose next topic is not writable', (kafka) => {
  let testBus: OrdersTestBus;
  beforeEach(() => {
    testBus = new OrdersTestBus(kafka.brokers);
    testBus.handle = failBad;
  });
  afterEach(() => testBus.end());

  it('pauses its partition while the dead-letter topic is missing', async () => {
    await testBus.createTopics({ without: testBus.deadLetterTopic });
    const application = await testBus.start({ retry: once, dlt });
    await testBus.write('"bad"', '"good"');
    await expectPaused(testBus, application, testBus.deadLetterTopic);
    await testBus.admin.createTopics([{ name: testBus.deadLetterTopic, partitions: 1 }]);
    await expectDeadLettered(testBus, application);
  }, 180_000);

  it('pauses its partition when the dead-letter topic is deleted, until it is created again', async () => {
    const { deadLetterTopic } = testBus;
    await testBus.createTopics();
    const application = await testBus.start({ retry: once, dlt });
    await testBus.write('"bad"');
    await testBus.until(
      'the first dead letter',
      async () => (await testBus.letters()).length === 1,
    );
    await testBus.until('its commit', async () => (await testBus.committed()) === 1);
    await testBus.admin.deleteTopics([deadLetterTopic]);
    await testBus.write('"bad"', '"good"');
    await expectPaused(testBus, application, deadLetterTopic, 1);
    await testBus.admin.createTopics([{ name: deadLetterTopic, partitions: 1 }]);
    await expectRecovered(testBus, application, 1);
    expect(testBus.calls.map(({ value }) => value)).toEqual(['bad', 'bad', 'good']);
    expect(await testBus.letters()).toMatchObject([{ totalAttempts: 1, originalOffset: 1n }]);
  }, 180_000);

  it('pauses its partition while the dead-letter topic accepts only smaller records', async () => {
    const { deadLetterTopic } = testBus;
    await testBus.createTopics();
    await testBus.admin.alterTopicConfig(deadLetterTopic, { 'max.message.bytes': '300' });
    const application = await testBus.start({ retry: once, dlt });
    // The value is too large for the topic even if compressed.
    const value = `bad ${incompressibleBytes(600).toString('base64')}`;
    await testBus.write(JSON.stringify(value), '"good"');
    await expectPaused(testBus, application, deadLetterTopic);
    await testBus.admin.alterTopicConfig(deadLetterTopic, { 'max.message.bytes': null });
    await expectDeadLettered(testBus, application);
  }, 180_000);

  it('is dead-lettered without a pause if the retry topic accepts only smaller records', async () => {
    const small = testBus.retryTopic(1);
    await testBus.createTopics({ tiers: 1 });
    await testBus.admin.alterTopicConfig(small, { 'max.message.bytes': '150' });
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200 }] };
    const application = await testBus.start({ retry, dlt });
    await testBus.write('"bad"', '"good"');
    await expectDeadLettered(testBus, application);
    expect(await testBus.letters()).toMatchObject([{ dltCause: 'too-large-for-retry' }]);
  }, 180_000);

  it('pauses its partition while the retry topic is missing, and is retried afterwards', async () => {
    const missing = testBus.retryTopic(1);
    await testBus.createTopics({ tiers: 1, without: missing });
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 2 }] };
    const application = await testBus.start({ retry, dlt });
    await testBus.write('"bad"', '"good"');
    await expectPaused(testBus, application, missing);
    await testBus.admin.createTopics([{ name: missing, partitions: 1 }]);
    await expectRecovered(testBus, application);
    await testBus.until('the dead letter', async () => (await testBus.letters()).length === 1);
    expect((await testBus.records(missing)).length).toBe(2);
    expect(await testBus.letters()).toMatchObject([{ totalAttempts: 3 }]);
  }, 180_000);
});
