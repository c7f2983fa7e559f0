import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { EventBusModule, EventPublishException, EventPublisher } from '@nest-event-bus/core';
import { unique } from '@nest-event-bus/testing';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { rejectionOf } from '../../support/thrown-errors.js';
import { describeWithKafka } from '../../support/index.js';

@Injectable()
class Announcer implements OnModuleInit {
  constructor(@Inject(EventPublisher) private readonly publisher: EventPublisher) {}
  async onModuleInit(): Promise<void> {
    await this.publisher.publish('orders', { id: 1 });
  }
}

class App {}

describeWithKafka('Publishing in onModuleInit, on a real Kafka', (kafka) => {
  let topic: string;
  beforeEach(() => {
    topic = unique('announced');
  });

  const start = (provisioning: 'create' | 'none') =>
    NestFactory.createApplicationContext(
      {
        module: App,
        imports: [
          EventBusModule.forRoot({
            brokers: kafka.brokers,
            bindings: { orders: { topic, groupId: unique('shop'), provisioning } },
            bindingsWithoutHandler: 'allow',
          }),
        ],
        providers: [Announcer],
      },
      { logger: false, abortOnError: false },
    );

  it('waits until the topic was created', async () => {
    const application = await start('create');
    await application.close();
    const driver = kafkajs({ brokers: kafka.brokers });
    const [partition] = await driver.admin().watermarks(topic);
    await driver.close();
    expect(partition).toMatchObject({ low: 0, high: 1 });
  });

  it('fails within a few seconds if the topic does not exist', async () => {
    const before = realRuntime.monotonic();
    const error = await rejectionOf(() => start('none'));
    expect(error).toBeInstanceOf(EventPublishException);
    expect(error).toMatchObject({ fate: 'not-written' });
    expect(String(error)).toContain(`Topic "${topic}" does not exist`);
    expect(realRuntime.monotonic() - before).toBeLessThan(20_000);
  });
});
