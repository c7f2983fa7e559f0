import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { headerText } from '../../src/model/records/header-text.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const MAIN = 'orders';
const RETRY = 'orders.retry-1';
const DLT = 'orders.DLT';

/**
 * A function that makes a topic unwritable, and returns a function that makes it writable again.
 */
type MakesUnwritable = (topic: string) => Promise<() => Promise<void> | void>;

let testBus: TestBus;
let calls: unknown[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: { value: unknown }): void {
    calls.push(value);
    if (String(value).startsWith('bad')) throw new Error('the warehouse does not answer');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  for (const topic of [MAIN, RETRY, DLT]) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const admin = () => testBus.outside.admin();

const OBSTACLES: Readonly<Record<string, MakesUnwritable>> = {
  deleted: async (topic) => {
    await testBus.done(admin().deleteTopics([topic]));
    return () => testBus.topic(topic);
  },
  'too small': async (topic) => {
    await testBus.done(admin().alterTopicConfig(topic, { 'max.message.bytes': '100' }));
    return () => testBus.done(admin().alterTopicConfig(topic, { 'max.message.bytes': null }));
  },
  refused: async (topic) => {
    const fault = testBus.broker.faults.refuse(
      { operation: 'produce', topic },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    return () => fault.lift();
  },
  silent: async (topic) => {
    const fault = testBus.broker.faults.loseRequests({ operation: 'produce', topic });
    return () => fault.lift();
  },
};

// The value is too large for a topic with a limit of 100 bytes, even if compressed.
const BAD = `"bad ${Array.from({ length: 400 }, (_, index) => (index * 7919).toString(36)).join('')}"`;

const start = (): Promise<TestingModule> =>
  testBus.startOrders([Orders], {
    retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] },
    dlt: { publishTimeoutMs: 10_000 },
  });

const partitionsThatWait = (application: TestingModule): unknown =>
  application
    .get(EventBusMetrics)
    .collect()
    .find(({ name }) => name === 'eventbus.partitions.paused')
    ?.samples.filter(({ labels }) => labels['reason'] === 'backoff');

/**
 * Expects that the record in topic `held` waits because `to` is not writable, and that no record
 * behind it is handled.
 */
async function expectHeld(application: TestingModule, held: string, to: string): Promise<void> {
  const { status, bindings } = testBus.health(application);
  expect(status).toBe('DOWN');
  expect(bindings[0]?.reasons.join()).toContain(`topic '${to}' cannot be written to`);
  expect(partitionsThatWait(application)).toMatchObject([{ labels: { topic: held }, value: 1 }]);
  expect(await testBus.committed(held === MAIN ? 'shop' : 'shop.retry-1')).toBe(0);
}

describe('A failed record whose next topic is not writable', () => {
  const HELD = [
    ['dead-letter', 'deleted'],
    ['dead-letter', 'too small'],
    ['dead-letter', 'refused'],
    ['dead-letter', 'silent'],
    ['retry', 'deleted'],
    ['retry', 'refused'],
    ['retry', 'silent'],
  ] as const;

  it.each(HELD)(
    'pauses its partition while the %s topic is %s, and continues afterwards',
    async (kind, way) => {
      const [held, to] = kind === 'retry' ? [MAIN, RETRY] : [RETRY, DLT];
      const application = await start();
      const repair = await OBSTACLES[way]!(to);
      await testBus.write(MAIN, BAD, '"good"');
      await testBus.runtime.advance(90_000);
      await expectHeld(application, held, to);
      const callsBefore = calls.length;
      await testBus.runtime.advance(10 * 60_000);
      await expectHeld(application, held, to);
      expect(calls).toHaveLength(callsBefore);
      const lines = testBus.log.errors.filter((line) => line.includes(`'${to}'`));
      expect(lines.length).toBeGreaterThan(5);
      // At once, and then at most once a minute.
      expect(lines.length).toBeLessThanOrEqual(12);
      await repair();
      await testBus.runtime.advance(60_000);
      expect(testBus.health(application).status).toBe('UP');
      expect(partitionsThatWait(application)).toEqual([]);
      const letters = await testBus.records(DLT);
      expect(letters.map(({ value }) => String(value))).toEqual([BAD]);
      expect(headerText(letters[0]!.headers, 'x-eventbus-total-attempts')).toBe('2');
      expect(calls.filter((value) => value === 'good')).toHaveLength(1);
      expect(calls).toHaveLength(3);
      expect([await testBus.committed(), await testBus.committed('shop.retry-1')]).toEqual([2, 1]);
    },
  );

  it('is dead-lettered without a pause if the retry topic is too small, because waiting does not help', async () => {
    const application = await start();
    await OBSTACLES['too small']!(RETRY);
    await testBus.write(MAIN, BAD, '"good"');
    await testBus.runtime.advance(60_000);
    const [letter] = await testBus.records(DLT);
    expect(headerText(letter!.headers, 'x-eventbus-dlt-cause')).toBe('too-large-for-retry');
    expect(calls).toHaveLength(2);
    expect(await testBus.committed()).toBe(2);
    expect(testBus.health(application).status).toBe('UP');
  });
});
