import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { NoRecordWaitsException } from '../../src/errors/container-errors.js';
import type { Decision } from '../../src/model/outcomes/decision.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { World } from '../support/application.spec-support.js';

const HOUR = 3_600_000;
const WELL = Array.from({ length: 20 }, () => '"well"');

let world: World;
let done: number;
let failures: number;
let isGone: boolean;

/** Each record goes to the host of its own customer. */
@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: EventRecord<string>): void {
    if (value === 'gone' && isGone) {
      failures += 1;
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    }
    done += 1;
  }
}

beforeEach(async () => {
  world = new World();
  done = failures = 0;
  isGone = true;
  for (const topic of ['orders', 'orders.DLT']) await world.topic(topic, 2);
});
afterEach(() => world.end());

const start = (properties: Partial<TopicBindingProperties> = {}): Promise<TestingModule> =>
  world.startOrders([Orders], {
    retry: { tiers: [] },
    circuitBreaker: { enabled: true },
    ...properties,
  });

const circuitOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').circuitBreaker.current!;

const decide = (application: TestingModule, decision: Decision, offset?: number) => {
  const place = { topic: 'orders', partition: 0, ...(offset !== undefined && { offset }) };
  return world.done(application.get(EventBusConnector).decide('orders', place, decision));
};

const reasonsOf = (application: TestingModule) => world.health(application).bindings[0]?.reasons;

const NAMED = 'orders-0: offset 0 alone has all trial calls of the circuit';

describe('One record whose own host is gone, and which has opened the circuit of its binding', () => {
  const opened = async (properties?: Partial<TopicBindingProperties>): Promise<TestingModule> => {
    const application = await start(properties);
    await world.write('orders', '"gone"', ...WELL);
    await world.runtime.advance(HOUR);
    return application;
  };

  it('stays where it is, and is named by the log, once, and by health', async () => {
    const application = await opened();
    expect([done, await world.committed()]).toEqual([0, 0]);
    expect(reasonsOf(application)).toContain(NAMED);
    const lines = world.said.errors.filter((line) => line.includes('orders-0@0 alone had'));
    expect(lines).toHaveLength(1);
  });

  it('is not named by a circuit that closes again', async () => {
    const application = await opened();
    isGone = false;
    await world.runtime.advance(HOUR);
    expect([done, circuitOf(application).state]).toEqual([21, 'CLOSED']);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it.each<[Decision, number, Partial<TopicBindingProperties>]>([
    ['dead-letter', 1, {}],
    ['skip', 0, {}],
    ['dead-letter', 1, { processing: { by: 'key', maxConcurrency: 4 } }],
    ['dead-letter', 1, { retry: { mode: 'seek', tiers: [] } }],
  ])('leaves by "%s", with %i dead letter, and all goes on: %j', async (decision, count, more) => {
    const application = await opened(more);
    await advanceUntilOpen(application);
    const calls = failures;
    await decide(application, decision, 0);
    expect(world.health(application).bindings[0]?.state).toBe('PAUSED');
    await world.runtime.advance(HOUR);
    expect([failures - calls, done, circuitOf(application).state]).toEqual([0, 20, 'CLOSED']);
    expect(await world.committed()).toBe(21);
    expect(world.health(application).status).toBe('UP');
    const letters = (await world.records('orders.DLT')).map(readDeadLetter);
    expect(letters).toHaveLength(count);
    for (const letter of letters)
      expect(letter).toMatchObject({
        dltReason: 'MANUAL',
        dltCause: 'operator',
        lastExceptionMessage: 'getaddrinfo ENOTFOUND',
        totalAttempts: calls,
      });
  });

  it('is not named any more once it has left, though nothing else is there to be tried', async () => {
    const application = await start();
    await world.write('orders', '"gone"');
    await world.runtime.advance(HOUR);
    expect(reasonsOf(application)).toContain(NAMED);
    await advanceUntilOpen(application);
    await decide(application, 'skip', 0);
    await world.runtime.advance(HOUR);
    expect(circuitOf(application).state).toBe('HALF_OPEN');
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it('is called again where somebody takes his decision back in time', async () => {
    const application = await opened();
    await advanceUntilOpen(application);
    await decide(application, 'skip', 0);
    await decide(application, 'retry', 0);
    isGone = false;
    await world.runtime.advance(HOUR);
    expect([done, await world.committed()]).toEqual([21, 21]);
  });

  it('is passed over by nobody who does not name it, or names another', async () => {
    const application = await opened();
    await advanceUntilOpen(application);
    await expect(decide(application, 'skip')).rejects.toThrow('give the offset');
    await expect(decide(application, 'skip', 1)).rejects.toThrow(NoRecordWaitsException);
    await world.runtime.advance(HOUR);
    expect(await world.committed()).toBe(0);
  });
});

async function advanceUntilOpen(application: TestingModule): Promise<void> {
  for (let tries = 0; tries < 2_000 && circuitOf(application).state !== 'OPEN'; tries++)
    await world.runtime.advance(50);
  await world.runtime.advance(100);
}
