import { EventBusModule, EventHandler } from '@nest-event-bus/core';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithCluster } from '../../support/index.js';

const RACKS = ['north', 'east', 'south'];
const RECORDS = 50;
const VALUE = JSON.stringify('x'.repeat(10_000));

let handled = 0;

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle(): void {
    handled++;
  }
}

describeWithCluster(
  'The rackId of a cluster',
  {
    brokers: 3,
    racks: RACKS,
    proxied: true,
    settings: {
      'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    },
  },
  (cluster) => {
    it('lets an application read from the broker in its rack', async () => {
      const [topic, groupId] = [unique('orders'), unique('group')];
      const driver = kafkajs({ brokers: cluster().brokers });
      const admin = driver.admin();
      await admin.createTopics([{ name: topic, partitions: 1 }]);
      const records = Array.from({ length: RECORDS }, () => ({
        topic,
        partition: 0,
        value: VALUE,
      }));
      await driver.producer().send(records);
      const partition = async () => (await admin.topics([topic]))[0]?.partitions[0];
      await eventually(async () => (await partition())?.inSync.length === 3, {
        timeoutMs: 60_000,
        description: 'all replicas to be in sync',
      });
      const near = (((await partition())?.leader ?? 0) + 1) % RACKS.length;
      await driver.close();

      class App {}
      const bus = EventBusModule.forRoot({
        clusters: {
          default: { brokers: [...cluster().proxiedBrokers], rackId: RACKS[near] },
        },
        bindings: { orders: { topic, groupId } },
      });
      const application = await NestFactory.createApplicationContext(
        { module: App, imports: [bus], providers: [Handlers] },
        { logger: false, abortOnError: false },
      );
      try {
        await eventually(() => handled === RECORDS, {
          timeoutMs: 60_000,
          description: 'all records to be handled',
        });
      } finally {
        await application.close();
      }
      const most = (RECORDS * VALUE.length) / 2;
      const servedBy = cluster().proxies.flatMap(({ bytes }, broker) =>
        bytes.toClient.forwarded > most ? [broker] : [],
      );
      expect(servedBy).toEqual([near]);
    });
  },
);
