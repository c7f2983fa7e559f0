import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

const handled: string[] = [];

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle({ partition, offset }: EventRecord): void {
    handled.push(`${partition}:${offset}`);
  }
}

describeWithKafka('A topic that gets more partitions', ({ brokers, unique }) => {
  const driver = kafkajs({ brokers });
  let application: INestApplicationContext | undefined;
  afterAll(async () => {
    await application?.close();
    await driver.close();
  });

  it('is read from the first record of each new partition within metadataMaxAgeMs, even with `latest`', async () => {
    const [topic, groupId] = [unique('orders'), unique('group')];
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    class App {}
    const bus = EventBusModule.forRoot({
      clusters: { default: { brokers: [...brokers], metadataMaxAgeMs: '1s' } },
      bindings: { orders: { topic, groupId, offsetReset: 'latest' } },
    });
    application = await NestFactory.createApplicationContext(
      { module: App, imports: [bus], providers: [Handlers] },
      { logger: false, abortOnError: false },
    );
    const admin = driver.admin();
    // The session commits its start offset at once, so a committed offset means that it has
    // started.
    await eventually(async () => (await admin.groupOffsets(groupId)).length === 1, {
      timeoutMs: 60_000,
      description: 'the group to begin',
    });
    await admin.createPartitions(topic, 3);
    const records = [1, 2].flatMap((partition) => [{ topic, partition, value: '{}' }]);
    await driver.producer({ lingerMs: 0 }).send([...records, ...records]);
    // The time limit covers several refreshes, one per second, but not the default of ten seconds.
    await eventually(() => handled.length === 4, {
      timeoutMs: 60_000,
      description: `all to be handled, not only ${handled.join(' ')}`,
    });
    expect(handled.toSorted()).toEqual(['1:0', '1:1', '2:0', '2:1']);
  });
});
