import { EventPattern, Payload, ServerKafka } from '@nestjs/microservices';
import { Controller } from '@nestjs/common';
import { tryLoadPackage } from '@nestjs/common/internal';
import { NestFactory } from '@nestjs/core';
import { logLevel } from 'kafkajs';
import { clock } from './clock.mjs';
import { requireAll } from './fill-topic.mjs';

let groups = 0;

// Nest looks for the package beside itself, but the bench has it in its own folder.
await tryLoadPackage('@nestjs/microservices', () => import('@nestjs/microservices'));

/** Records when its consumer requests its first records, because the start of Nest and the group is not measured. */
class TimedServer extends ServerKafka {
  startedAt = 0;

  async bindEvents(consumer) {
    consumer.on(consumer.events.FETCH_START, () => (this.startedAt ||= clock()));
    await super.bindEvents(consumer);
  }
}

/** `@EventPattern` of @nestjs/microservices with an empty handler. Returns records per second. */
export async function microserviceRate(brokers, topic, records) {
  let seen = 0;
  let checksum = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const handle = ({ id }) => {
    checksum += id;
    if (++seen === records) finish(clock());
  };
  const server = new TimedServer({
    client: { brokers: [...brokers], logLevel: logLevel.NOTHING },
    consumer: { groupId: `${topic}-microservice-${++groups}` },
    subscribe: { fromBeginning: true },
  });
  const application = await NestFactory.createMicroservice(
    { module: class Application {}, controllers: [controllerOf(topic, handle)] },
    { strategy: server, logger: ['error'] },
  );
  await application.listen();
  const rate = records / (((await finished) - server.startedAt) / 1_000);
  requireAll(checksum, records);
  await application.close();
  return rate;
}

function controllerOf(topic, handle) {
  class Orders {
    handle(order) {
      handle(order);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Orders.prototype, 'handle');
  EventPattern(topic)(Orders.prototype, 'handle', method);
  Payload()(Orders.prototype, 'handle', 0);
  Controller()(Orders);
  return Orders;
}
