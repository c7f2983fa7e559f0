import { describeWithKafka } from '../support/index.js';
import {
  dlt,
  expectDeadLettered,
  expectHeld,
  expectRecovered,
  failBad,
  once,
} from './held-partition.js';
import { noise } from './noise.js';
import { OrdersStage } from './orders-stage.js';

describeWithKafka('a topic that a failed record cannot be written to', (kafka) => {
  let stage: OrdersStage;
  beforeEach(() => {
    stage = new OrdersStage(kafka.brokers);
    stage.handle = failBad;
  });
  afterEach(() => stage.end());

  it('holds its partition while the dead-letter topic is missing', async () => {
    await stage.createTopics({ without: stage.deadLetterTopic });
    const application = await stage.start({ retry: once, dlt });
    await stage.write('"bad"', '"good"');
    await expectHeld(stage, application, stage.deadLetterTopic);
    await stage.admin.createTopics([{ name: stage.deadLetterTopic, partitions: 1 }]);
    await expectDeadLettered(stage, application);
  }, 30_000);

  it('holds its partition when the dead-letter topic is deleted, until there is another', async () => {
    const { deadLetterTopic } = stage;
    await stage.createTopics();
    const application = await stage.start({ retry: once, dlt });
    await stage.write('"bad"');
    await stage.until('the first dead letter', async () => (await stage.letters()).length === 1);
    await stage.until('its commit', async () => (await stage.committed()) === 1);
    await stage.admin.deleteTopics([deadLetterTopic]);
    await stage.write('"bad"', '"good"');
    await expectHeld(stage, application, deadLetterTopic, 1);
    await stage.admin.createTopics([{ name: deadLetterTopic, partitions: 1 }]);
    await expectRecovered(stage, application, 1);
    expect(stage.calls.map(({ value }) => value)).toEqual(['bad', 'bad', 'good']);
    expect(await stage.letters()).toMatchObject([{ totalAttempts: 1, originalOffset: 1n }]);
  }, 60_000);

  it('holds its partition while the dead-letter topic takes nothing as large as the record', async () => {
    const { deadLetterTopic } = stage;
    await stage.createTopics();
    await stage.admin.alterTopicConfig(deadLetterTopic, { 'max.message.bytes': '300' });
    const application = await stage.start({ retry: once, dlt });
    // Compressed it would still be too large.
    const value = `bad ${noise(600).toString('base64')}`;
    await stage.write(JSON.stringify(value), '"good"');
    await expectHeld(stage, application, deadLetterTopic);
    await stage.admin.alterTopicConfig(deadLetterTopic, { 'max.message.bytes': null });
    await expectDeadLettered(stage, application);
  }, 30_000);

  it('does not hold it for a retry topic that takes nothing as large: the record is dead-lettered', async () => {
    const small = stage.retryTopic(1);
    await stage.createTopics({ tiers: 1 });
    await stage.admin.alterTopicConfig(small, { 'max.message.bytes': '150' });
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200 }] };
    const application = await stage.start({ retry, dlt });
    await stage.write('"bad"', '"good"');
    await expectDeadLettered(stage, application);
    expect(await stage.letters()).toMatchObject([{ dltCause: 'too-large-for-retry' }]);
  }, 30_000);

  it('holds its partition while a retry topic is missing, whose binding goes on through it afterwards', async () => {
    const missing = stage.retryTopic(1);
    await stage.createTopics({ tiers: 1, without: missing });
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 2 }] };
    const application = await stage.start({ retry, dlt });
    await stage.write('"bad"', '"good"');
    await expectHeld(stage, application, missing);
    await stage.admin.createTopics([{ name: missing, partitions: 1 }]);
    await expectRecovered(stage, application);
    await stage.until('the dead letter', async () => (await stage.letters()).length === 1);
    expect((await stage.records(missing)).length).toBe(2);
    expect(await stage.letters()).toMatchObject([{ totalAttempts: 3 }]);
  }, 30_000);
});
