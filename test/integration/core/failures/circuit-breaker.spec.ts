import {
  ContainerRegistry,
  EventBusModule,
  EventHandler,
  LifecycleManager,
  type CircuitTransition,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import type { AdminSession } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

const RECORDS = 3_000;
const PARTITIONS = 6;
const SESSIONS = 3;
const PERMITTED_CALLS = 3;
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

describeWithKafka('A circuit breaker during an outage under load', (kafka) => {
  const driver = kafkajs({ brokers: kafka.brokers });
  let admin: AdminSession;
  let application: INestApplicationContext | undefined;

  beforeAll(() => {
    admin = driver.admin();
  });
  beforeEach(() => {
    [isDown, failedCalls, attemptsBeyondOne] = [false, 0, 0];
    done.length = 0;
  });
  afterEach(() => application?.close());
  afterAll(() => driver.close());

  const start = async (
    topic: string,
    groupId: string,
    waitDurationInOpenStateMs = OPEN_MS,
  ): Promise<INestApplicationContext> => {
    class App {}
    const bindings = {
      orders: {
        topic,
        groupId,
        concurrency: SESSIONS,
        sessionTimeoutMs: '3s',
        heartbeatIntervalMs: '300ms',
        pollTimeoutMs: '250ms',
        retry: { tiers: [], tier0: { maxAttempts: 2, initialBackoffMs: 20 } },
        circuitBreaker: {
          enabled: true,
          slidingWindowSize: 10,
          minimumNumberOfCalls: 10,
          permittedNumberOfCallsInHalfOpenState: PERMITTED_CALLS,
          waitDurationInOpenStateMs,
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

  it('loses no record, limits the calls, keeps the group membership, and recovers without help', async () => {
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

    await eventually(() => breaker.state === 'CLOSED', { timeoutMs: 60_000 });
    await writing;
    await eventually(() => done.length >= RECORDS, { timeoutMs: 60_000 });
    expect(registry.require('orders')).toMatchObject({ state: 'RUNNING', pauses: [] });
    expect(await group()).toEqual(before);

    // Each record was handled once, because the commit before a pause contains all completed
    // records.
    expect(new Set(done).size).toBe(RECORDS);
    expect(done).toHaveLength(RECORDS);
    expect(doneWhileDown).toBeLessThan(RECORDS);

    // Ten calls open the circuit. Each half-open phase adds a few failed records, with two calls
    // each.
    const halfOpenPhases = transitions.filter(({ to }) => to === 'HALF_OPEN').length;
    expect(halfOpenPhases).toBeGreaterThan(3);
    expect(halfOpenPhases).toBeLessThanOrEqual(DOWN_MS / OPEN_MS + 2);
    const running = PARTITIONS;
    expect(failedCalls).toBeLessThanOrEqual(2 * (10 + running + halfOpenPhases * PERMITTED_CALLS));
    expect(attemptsBeyondOne).toBeGreaterThan(0);

    await eventually(async () => {
      const offsets = await admin.groupOffsets(groupId);
      return offsets.reduce((sum, { offset }) => sum + offset, 0) === RECORDS;
    });
  }, 180_000);

  it('does not resume a binding that an operator has paused, and newly assigned partitions stay paused too', async () => {
    const [topic, groupId] = [kafka.unique('orders'), kafka.unique('shop')];
    await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
    const otherMember = driver.consumer({
      groupId,
      topics: [topic],
      sessionTimeoutMs: 3_000,
      heartbeatIntervalMs: 300,
    });
    await otherMember.start({
      onAssigned: () => undefined,
      onRevoked: async () => undefined,
      onLost: () => undefined,
    });
    application = await start(topic, groupId, 3_000);
    const registration = () => application!.get(ContainerRegistry).require('orders');
    const assigned = () => registration().mainContainer.status.assignment.length;
    await eventually(
      () =>
        otherMember.assignment().length > 0 &&
        assigned() + otherMember.assignment().length === PARTITIONS,
    );
    const newPartitions = otherMember.assignment().map(({ partition }) => partition);

    isDown = true;
    const records = Array.from({ length: 60 }, (_, id) => ({
      topic,
      partition: id % PARTITIONS,
      value: `{"id":${id}}`,
    }));
    await driver.producer().send(records);
    await eventually(() => registration().pauses.includes('circuit'));
    await eventually(() => registration().mainContainer.status.runningHandlers === 0);
    await application.get(LifecycleManager).pause('orders', { by: 'ada' });
    const calls = failedCalls;
    await otherMember.close();
    await eventually(() => assigned() === PARTITIONS);

    await eventually(() => !registration().pauses.includes('circuit'), { timeoutMs: 60_000 });
    isDown = false;
    await pause(1_000);
    expect([failedCalls, done, registration().pauses]).toEqual([calls, [], ['operator']]);
    await application.get(LifecycleManager).resume('orders');
    await eventually(() => new Set(done).size === 60, { timeoutMs: 60_000 });
    expect(done.some((place) => newPartitions.includes(Number(place.split('/')[0])))).toBe(true);
  }, 180_000);
});
