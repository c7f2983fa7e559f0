const assert = require('node:assert/strict');

/** Uses the libraries as they were loaded; `load` is import or require. */
exports.check = async (entryPoints, load) => {
  for (const entryPoint of entryPoints) {
    const names = Object.keys(await load(entryPoint));
    assert.ok(names.length > 0, `${entryPoint} exports nothing`);
  }
  await checkDriver(load);
  await checkEventBus(load);
};

async function checkDriver(load) {
  const { ClosedError } = await load('@nest-event-bus/broker');
  const driver = await greetings(load);
  const session = driver.consumer({ groupId: 'pack-check', topics: ['greetings'] });
  const nothing = () => undefined;
  await session.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing });
  await driver.producer().send([{ topic: 'greetings', value: 'hello' }]);
  const [record] = await session.poll(1);
  assert.equal(record.value.toString(), 'hello');
  await driver.close();
  await assert.rejects(session.poll(1), (error) => error instanceof ClosedError);
}

async function checkEventBus(load) {
  const { EventBusModule, EventHandler, EventPublisher } = await load('@nest-event-bus/core');
  const { Module } = await load('@nestjs/common');
  const { NestFactory } = await load('@nestjs/core');
  let receive;
  const received = new Promise((resolve) => (receive = resolve));
  class Handlers {
    onGreeting({ value }) {
      receive(value);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'onGreeting');
  EventHandler('greetings')(Handlers.prototype, 'onGreeting', method);
  class App {}
  const bindings = { greetings: { topic: 'greetings', groupId: 'pack-check' } };
  const bus = EventBusModule.forRoot({ driver: await greetings(load), bindings });
  Module({ imports: [bus], providers: [Handlers] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  await app.get(EventPublisher).publish('greetings', { hello: 'Nest' });
  assert.deepEqual(await received, { hello: 'Nest' });
  await app.close();
}

async function greetings(load) {
  const { memory } = await load('@nest-event-bus/broker/memory');
  const driver = memory();
  await driver.admin().createTopics([{ name: 'greetings', partitions: 1 }]);
  return driver;
}
