import { EventBusConnector, EventBusModule, EventHandler } from '@nest-event-bus/core';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

/** Time in which a problem has to be told. */
const AT_ONCE = { timeoutMs: 60_000 };

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {}
}

class App {}

describeWithKafka('A problem that lasts', (kafka) => {
  /** All log lines, with their levels. */
  let lines: string[];
  let application: INestApplicationContext | undefined;
  let testBus: OrdersTestBus | undefined;

  beforeEach(() => {
    lines = [];
  });
  afterEach(async () => {
    await application?.close();
    await testBus?.end();
    application = testBus = undefined;
  });

  const linesWith = (...texts: string[]): readonly string[] =>
    lines.filter((line) => texts.every((text) => line.includes(text)));

  async function start(brokers: readonly string[], binding: object): Promise<void> {
    const add =
      (level: string) =>
      (message: unknown): void =>
        void lines.push(`${level} ${String(message)}`);
    const logger = {
      debug: add('debug'),
      log: add('info'),
      warn: add('warn'),
      error: add('error'),
    };
    const bindings = { orders: { groupId: unique('shop'), retry: { tiers: [] }, ...binding } };
    application = await NestFactory.createApplicationContext(
      {
        module: App,
        imports: [EventBusModule.forRoot({ brokers, bindings: bindings as never })],
        providers: [Orders],
      },
      { logger, abortOnError: false },
    );
  }

  const health = () => application!.get(EventBusConnector).health();

  it('is told at once, and in few lines, if the main topic is missing, until it exists', async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    await start(kafka.brokers, { topic: testBus.topic });
    await eventually(
      () => linesWith('warn', `Topic '${testBus!.topic}'`, 'does not exist').length === 1,
      AT_ONCE,
    );
    expect(health().status).toBe('DOWN');
    await testBus.createTopics();
    await eventually(() => linesWith('info', 'consumes again').length === 1, { timeoutMs: 60_000 });
    expect(linesWith('debug').length).toBeLessThan(10);
    expect(linesWith('MEMBER_ID_REQUIRED')).toEqual([]);
    await eventually(() => health().status === 'UP', { timeoutMs: 60_000 });
  });

  it('is told at once, and in few lines, if no broker can be reached', async () => {
    await start(['127.0.0.1:1'], { topic: 'orders' });
    await eventually(
      () => linesWith('warn', "Binding 'orders' does not consume topic 'orders'").length === 1,
      AT_ONCE,
    );
    expect(health().status).toBe('DOWN');
    expect(linesWith('debug').length).toBeLessThan(10);
  });

  it('is not told while topics are being created', async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    await start(kafka.brokers, { topic: testBus.topic, provisioning: 'create' });
    await eventually(() => health().status === 'UP', { timeoutMs: 60_000 });
    expect(linesWith('warn', 'does not exist')).toEqual([]);
    expect(linesWith('debug').length).toBeLessThan(10);
  });

  it('is told at once if the dead-letter topic is missing when a record needs it', async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    await testBus.createTopics();
    testBus.handle = (_, context) => context.deadLetter();
    const bus = await testBus.start({ retry: { tiers: [] } });
    await testBus.admin.deleteTopics([testBus.deadLetterTopic]);
    await testBus.write('1');
    await eventually(
      () => testBus!.logLines.filter((line) => line.includes('could not be written')).length === 1,
      AT_ONCE,
    );
    expect(testBus.health(bus)).toMatchObject({ status: 'DOWN' });
    await testBus.createTopics({ without: testBus.topic });
    await eventually(async () => (await testBus!.letters()).length === 1, { timeoutMs: 60_000 });
    await eventually(() => testBus!.health(bus).status === 'UP', { timeoutMs: 60_000 });
  });
});
