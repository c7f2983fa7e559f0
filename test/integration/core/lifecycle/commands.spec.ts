import {
  ContainerRegistry,
  EventBusConnector,
  EventBusModule,
  EventHandler,
  LifecycleManager,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { VirtualRuntime, realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

const NAMES = ['orders', 'payments', 'stock', 'mail', 'audit'] as const;
const COMMANDS = 1_000;
const CALLERS = 10;
const RECORDS = 400;

/** Commands that start a binding are more likely, so that bindings run most of the time. */
const ACTIONS = [
  ...(['start', 'start', 'resume', 'resume', 'register', 'register'] as const),
  ...(['pause', 'pause', 'stop', 'destroy'] as const),
];

const EXPECTED = new Set([
  'INVALID_CONTAINER_STATE',
  'BINDING_NOT_FOUND',
  'BINDING_ALREADY_EXISTS',
]);

const handled = new Map<string, Map<string, number>>();

function handle({ partition, offset }: EventRecord, { binding }: EventContext): void {
  const ofBinding = handled.get(binding) ?? new Map<string, number>();
  handled.set(binding, ofBinding);
  const position = `${partition}/${offset}`;
  ofBinding.set(position, (ofBinding.get(position) ?? 0) + 1);
}

@Injectable()
class Handlers {
  @EventHandler('orders')
  @EventHandler('payments')
  @EventHandler('stock')
  @EventHandler('mail')
  @EventHandler('audit')
  handle(record: EventRecord, context: EventContext): void {
    handle(record, context);
  }
}

describeWithKafka('A thousand lifecycle commands from ten callers under load', (kafka) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const chance = new VirtualRuntime({ seed });
  const oneOf = <T>(items: readonly T[]): T => items[Math.floor(chance.random() * items.length)]!;

  it(`leave every binding in a correct state and every record handled (SEED=${seed})`, async () => {
    const driver = kafkajs({ brokers: kafka.brokers });
    const admin = driver.admin();
    const places = Object.fromEntries(
      NAMES.map((name) => [
        name,
        {
          topic: kafka.unique(name),
          groupId: kafka.unique(`group-${name}`),
          provisioning: 'create',
          sessionTimeoutMs: '6s',
          heartbeatIntervalMs: '300ms',
        } as const,
      ]),
    );
    const topics = Object.values(places).map(({ topic }) => ({ name: topic, partitions: 2 }));
    await admin.createTopics(topics);
    class App {}
    const bus = EventBusModule.forRoot({ brokers: kafka.brokers, bindings: places });
    const application = await NestFactory.createApplicationContext(
      { module: App, imports: [bus], providers: [Handlers] },
      { logger: ['error'], abortOnError: false },
    );
    const lifecycle = application.get(LifecycleManager);
    const connector = application.get(EventBusConnector);
    const unexpected: unknown[] = [];
    const tally: Record<string, number> = {};

    const command = async (): Promise<void> => {
      const name = oneOf(NAMES);
      const what = oneOf(ACTIONS);
      const outcome = (result: string): void => {
        tally[`${what} ${result}`] = (tally[`${what} ${result}`] ?? 0) + 1;
      };
      try {
        if (what === 'register') await connector.register(name, places[name]!, handle);
        else await lifecycle[what](name);
        outcome('done');
      } catch (error) {
        outcome('refused');
        if (!EXPECTED.has((error as { code: string }).code)) unexpected.push(error);
      }
    };
    const callers = Array.from({ length: CALLERS }, async () => {
      for (let index = 0; index < COMMANDS / CALLERS; index++) {
        await command();
        await sleep(realRuntime, chance.random() * 10);
      }
    });
    const write = async (): Promise<void> => {
      const producer = driver.producer();
      for (let index = 0; index < RECORDS; index++) {
        const [partition, value] = [index % 2, `{"id":${index}}`];
        await producer.send(topics.map(({ name: topic }) => ({ topic, partition, value })));
        await sleep(realRuntime, 5);
      }
    };

    try {
      const startedAt = realRuntime.monotonic();
      await Promise.all([...callers, write()]);
      const seconds = ((realRuntime.monotonic() - startedAt) / 1_000).toFixed(1);
      process.stderr.write(`commands: seed ${seed}, ${seconds} s, ${JSON.stringify(tally)}\n`);
      expect(unexpected).toEqual([]);

      for (const name of NAMES) {
        const state = application.get(ContainerRegistry).get(name)?.state;
        if (state === undefined) await connector.register(name, places[name]!, handle);
        else if (state === 'PAUSED') await lifecycle.resume(name);
        else if (state !== 'RUNNING') await lifecycle.start(name);
      }
      const countOf = (name: string): number => handled.get(name)?.size ?? 0;
      await eventually(() => NAMES.every((name) => countOf(name) === RECORDS), {
        timeoutMs: 60_000,
        description: 'every record to be handled',
      });
      await eventually(() => connector.health().status === 'UP', { timeoutMs: 60_000 });
      expect(connector.listBindings().map(({ state }) => state)).toEqual(
        NAMES.map(() => 'RUNNING'),
      );
      for (const { groupId } of Object.values(places)) {
        const group = await admin.describeGroup(groupId);
        expect(group).toMatchObject({ state: 'Stable', members: [{}] });
        await eventually(async () => {
          const offsets = await admin.groupOffsets(groupId);
          return offsets.reduce((sum, { offset }) => sum + offset, 0) === RECORDS;
        });
      }
      expect(lifecycle.busyBindings).toBe(0);
    } finally {
      await application.close();
      await driver.close();
    }
  }, 180_000);
});
