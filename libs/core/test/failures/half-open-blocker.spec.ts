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
import { TestBus } from '../support/test-bus.spec-support.js';

const HOUR = 3_600_000;
const GOOD_RECORDS = Array.from({ length: 20 }, () => '"good"');

let testBus: TestBus;
let done: number;
let failures: number;
let isHostDown: boolean;

/** Calls the host of the record's customer. */
@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: EventRecord<string>): void {
    if (value === 'gone' && isHostDown) {
      failures += 1;
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    }
    done += 1;
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  done = failures = 0;
  isHostDown = true;
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic, 2);
});
afterEach(() => testBus.end());

const start = (properties: Partial<TopicBindingProperties> = {}): Promise<TestingModule> =>
  testBus.startOrders([Orders], {
    retry: { tiers: [] },
    circuitBreaker: { enabled: true },
    ...properties,
  });

const circuitOf = (application: TestingModule) =>
  application.get(ContainerRegistry).require('orders').circuitBreaker.current!;

const decide = (application: TestingModule, decision: Decision, offset?: number) => {
  const place = { topic: 'orders', partition: 0, ...(offset !== undefined && { offset }) };
  return testBus.done(application.get(EventBusConnector).decide('orders', place, decision));
};

const reasonsOf = (application: TestingModule) => testBus.health(application).bindings[0]?.reasons;

const BLOCKER_REASON = 'orders-0: offset 0 alone has all trial calls of the circuit';

describe('One record that keeps the circuit of its binding open because its own host is unreachable', () => {
  const opened = async (properties?: Partial<TopicBindingProperties>): Promise<TestingModule> => {
    const application = await start(properties);
    await testBus.write('orders', '"gone"', ...GOOD_RECORDS);
    await testBus.runtime.advance(HOUR);
    return application;
  };

  it('stays in place, and the log (once) and health name it', async () => {
    const application = await opened();
    expect([done, await testBus.committed()]).toEqual([0, 0]);
    expect(reasonsOf(application)).toContain(BLOCKER_REASON);
    const lines = testBus.log.errors.filter((line) => line.includes('orders-0@0 alone had'));
    expect(lines).toHaveLength(1);
  });

  it('is no longer named when the circuit closes', async () => {
    const application = await opened();
    isHostDown = false;
    await testBus.runtime.advance(HOUR);
    expect([done, circuitOf(application).state]).toEqual([21, 'CLOSED']);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });

  it.each<[Decision, number, Partial<TopicBindingProperties>]>([
    ['dead-letter', 1, {}],
    ['skip', 0, {}],
    ['dead-letter', 1, { processing: { by: 'key', maxConcurrency: 4 } }],
    ['dead-letter', 1, { retry: { mode: 'seek', tiers: [] } }],
  ])(
    'is removed by decision "%s" with %i dead letter, and the others are handled: %j',
    async (decision, count, more) => {
      const application = await opened(more);
      await advanceUntilOpen(application);
      const calls = failures;
      await decide(application, decision, 0);
      expect(testBus.health(application).bindings[0]?.state).toBe('PAUSED');
      await testBus.runtime.advance(HOUR);
      expect([failures - calls, done, circuitOf(application).state]).toEqual([0, 20, 'CLOSED']);
      expect(await testBus.committed()).toBe(21);
      expect(testBus.health(application).status).toBe('UP');
      const letters = (await testBus.records('orders.DLT')).map(readDeadLetter);
      expect(letters).toHaveLength(count);
      for (const letter of letters)
        expect(letter).toMatchObject({
          dltReason: 'MANUAL',
          dltCause: 'operator',
          lastExceptionMessage: 'getaddrinfo ENOTFOUND',
          totalAttempts: calls,
        });
    },
  );

  it('is no longer named after its removal, even if no other record is left for trial calls', async () => {
    const application = await start();
    await testBus.write('orders', '"gone"');
    await testBus.runtime.advance(HOUR);
    expect(reasonsOf(application)).toContain(BLOCKER_REASON);
    await advanceUntilOpen(application);
    await decide(application, 'skip', 0);
    await testBus.runtime.advance(HOUR);
    expect(circuitOf(application).state).toBe('HALF_OPEN');
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });

  it("is called again when the decision is changed to 'retry' before it takes effect", async () => {
    const application = await opened();
    await advanceUntilOpen(application);
    await decide(application, 'skip', 0);
    await decide(application, 'retry', 0);
    isHostDown = false;
    await testBus.runtime.advance(HOUR);
    expect([done, await testBus.committed()]).toEqual([21, 21]);
  });

  it('is not skipped by a decision without an offset or with another offset', async () => {
    const application = await opened();
    await advanceUntilOpen(application);
    await expect(decide(application, 'skip')).rejects.toThrow('give the offset');
    await expect(decide(application, 'skip', 1)).rejects.toThrow(NoRecordWaitsException);
    await testBus.runtime.advance(HOUR);
    expect(await testBus.committed()).toBe(0);
  });
});

async function advanceUntilOpen(application: TestingModule): Promise<void> {
  for (let tries = 0; tries < 2_000 && circuitOf(application).state !== 'OPEN'; tries++)
    await testBus.runtime.advance(50);
  await testBus.runtime.advance(100);
}
