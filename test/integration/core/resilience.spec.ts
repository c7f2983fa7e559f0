import {
  ContainerRegistry,
  EventBusModule,
  EventHandler,
  type CircuitTransition,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import type { AdminSession } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../support/index.js';

const RECORDS = 3_000;
const PARTITIONS = 6;
const SESSIONS = 3;
const TRIALS = 3;
const OPEN_MS = 500;
const DOWN_MS = 5_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let isDown = false;
let failedCalls = 0;
let attemptsBeyondOne = 0;
const done: string[] = [];

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord, { attempt }: EventContext): Promise<void> {
    if (attempt.call > 1) attemptsBeyondOne++;
    await pause(1);
    if (isDown) {
      failedCalls++;
      throw Object.assign(new Error('the database is down'), { code: 'ECONNREFUSED' });
    }
    done.push(`${partition}/${offset}`);
  }
}

describeWithKafka('a dependency that is down under load, with the breaker on', (kafka) => {
  const driver = kafkajs({ brokers: kafka.brokers });
  let admin: AdminSession;
  let application: INestApplicationContext | undefined;

  beforeAll(() => {
    admin = driver.admin();
  });
  afterEach(() => application?.close());
  afterAll(() => driver.close());

  const start = async (topic: string, groupId: string): Promise<INestApplicationContext> => {
    class App {}
    const bindings = {
      orders: {
        topic,
        groupId,
        concurrency: SESSIONS,
        sessionTimeoutMs: '1500ms',
        heartbeatIntervalMs: '300ms',
        pollTimeoutMs: '250ms',
        retry: { tiers: [], tier0: { maxAttempts: 2, initialBackoffMs: 20 } },
        circuitBreaker: {
          enabled: true,
          slidingWindowSize: 10,
          minimumNumberOfCalls: 10,
          permittedNumberOfCallsInHalfOpenState: TRIALS,
          waitDurationInOpenStateMs: OPEN_MS,
        },
      },
    } as const;
    return NestFactory.createApplicationContext(
      {
        module: App,
        imports: [EventBusModule.forRoot({ brokers: kafka.brokers, bindings })],
        providers: [Handlers],
      },
      { logger: ['error'], abortOnError: false },
    );
  };

  it('loses nothing, calls it a bounded number of times, keeps its place in the group, and recovers by itself', async () => {
    const topic = kafka.unique('orders');
    const groupId = kafka.unique('shop');
    await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
    application = await start(topic, groupId);
    const registry = application.get(ContainerRegistry);
    const breaker = registry.require('orders').circuitBreaker.current!;
    const transitions: CircuitTransition[] = [];
    breaker.onTransition((transition) => transitions.push(transition));

    const producer = driver.producer();
    const writing = (async (): Promise<void> => {
      for (let batch = 0; batch < 30; batch++) {
        const records = Array.from({ length: RECORDS / 30 }, (_, id) => ({
          topic,
          partition: id % PARTITIONS,
          value: `{"id":${id}}`,
        }));
        await producer.send(records);
        await pause(200);
      }
    })();
    const group = async (): Promise<readonly string[]> => {
      const { state, members } = await admin.describeGroup(groupId);
      return [state, ...members.map(({ memberId }) => memberId)];
    };
    await eventually(async () => {
      const [state, ...members] = await group();
      return state === 'Stable' && members.length === SESSIONS;
    });
    const before = await group();
    await eventually(() => done.length > 100);

    isDown = true;
    await eventually(() => registry.require('orders').pauses.includes('circuit'));
    await pause(DOWN_MS);
    const doneWhileDown = done.length;
    isDown = false;

    await eventually(() => breaker.state === 'CLOSED', { timeoutMs: 10_000 });
    await writing;
    await eventually(() => done.length >= RECORDS, { timeoutMs: 10_000 });
    expect(registry.require('orders')).toMatchObject({ state: 'RUNNING', pauses: [] });
    expect(await group()).toEqual(before);

    // Every record was handled. What was done when a pause came is committed: nothing twice.
    expect(new Set(done).size).toBe(RECORDS);
    expect(done).toHaveLength(RECORDS);
    expect(doneWhileDown).toBeLessThan(RECORDS);

    // Ten calls open it, and each time it is half open a few more fail, with two attempts each.
    const rounds = transitions.filter(({ to }) => to === 'HALF_OPEN').length;
    expect(rounds).toBeGreaterThan(3);
    expect(rounds).toBeLessThanOrEqual(DOWN_MS / OPEN_MS + 2);
    const underWay = PARTITIONS;
    expect(failedCalls).toBeLessThanOrEqual(2 * (10 + underWay + rounds * TRIALS));
    expect(attemptsBeyondOne).toBeGreaterThan(0);

    await eventually(async () => {
      const offsets = await admin.groupOffsets(groupId);
      return offsets.reduce((sum, { offset }) => sum + offset, 0) === RECORDS;
    });
  }, 30_000);
});
