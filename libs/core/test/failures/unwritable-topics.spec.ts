import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { headerText } from '../../src/model/records/header-text.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { World } from '../support/application.spec-support.js';

const MAIN = 'orders';
const RETRY = 'orders.retry-1';
const DLT = 'orders.DLT';

/** What makes a topic take nothing; gives what mends it. */
type Breaks = (topic: string) => Promise<() => Promise<void> | void>;

let world: World;
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
  world = new World();
  calls = [];
  for (const topic of [MAIN, RETRY, DLT]) await world.topic(topic);
});
afterEach(() => world.end());

const admin = () => world.outside.admin();

const WAYS: Readonly<Record<string, Breaks>> = {
  deleted: async (topic) => {
    await world.done(admin().deleteTopics([topic]));
    return () => world.topic(topic);
  },
  'too small': async (topic) => {
    await world.done(admin().alterTopicConfig(topic, { 'max.message.bytes': '100' }));
    return () => world.done(admin().alterTopicConfig(topic, { 'max.message.bytes': null }));
  },
  refused: async (topic) => {
    const fault = world.broker.faults.refuse(
      { operation: 'produce', topic },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    return () => fault.lift();
  },
  silent: async (topic) => {
    const fault = world.broker.faults.loseRequests({ operation: 'produce', topic });
    return () => fault.lift();
  },
};

// Too large for a topic that takes 100 bytes, however it is compressed.
const BAD = `"bad ${Array.from({ length: 400 }, (_, index) => (index * 7919).toString(36)).join('')}"`;

const start = (): Promise<TestingModule> =>
  world.startOrders([Orders], {
    retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] },
    dlt: { publishTimeoutMs: 10_000 },
  });

const partitionsThatWait = (application: TestingModule): unknown =>
  application
    .get(EventBusMetrics)
    .collect()
    .find(({ name }) => name === 'eventbus.partitions.paused')
    ?.samples.filter(({ labels }) => labels['reason'] === 'backoff');

/** A record that waits in this topic for another; nothing behind it is handled. */
async function expectHeld(application: TestingModule, held: string, to: string): Promise<void> {
  const { status, bindings } = world.health(application);
  expect(status).toBe('DOWN');
  expect(bindings[0]?.reasons.join()).toContain(`topic '${to}' cannot be written to`);
  expect(partitionsThatWait(application)).toMatchObject([{ labels: { topic: held }, value: 1 }]);
  expect(await world.committed(held === MAIN ? 'shop' : 'shop.retry-1')).toBe(0);
}

describe('A topic that a failed record cannot be written to', () => {
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
    'holds its partition while the %s topic is %s, and all goes on when it is not',
    async (kind, way) => {
      const [held, to] = kind === 'retry' ? [MAIN, RETRY] : [RETRY, DLT];
      const application = await start();
      const mend = await WAYS[way]!(to);
      await world.write(MAIN, BAD, '"good"');
      await world.runtime.advance(90_000);
      await expectHeld(application, held, to);
      const heard = calls.length;
      await world.runtime.advance(10 * 60_000);
      await expectHeld(application, held, to);
      expect(calls).toHaveLength(heard);
      expect(world.said.errors.filter((line) => line.includes(`'${to}'`))).toHaveLength(1);
      await mend();
      await world.runtime.advance(60_000);
      expect(world.health(application).status).toBe('UP');
      expect(partitionsThatWait(application)).toEqual([]);
      const letters = await world.records(DLT);
      expect(letters.map(({ value }) => String(value))).toEqual([BAD]);
      expect(headerText(letters[0]!.headers, 'x-eventbus-total-attempts')).toBe('2');
      expect(calls.filter((value) => value === 'good')).toHaveLength(1);
      expect(calls).toHaveLength(3);
      expect([await world.committed(), await world.committed('shop.retry-1')]).toEqual([2, 1]);
    },
  );

  it('holds nothing where a retry topic is too small: no wait would help, the record is dead-lettered', async () => {
    const application = await start();
    await WAYS['too small']!(RETRY);
    await world.write(MAIN, BAD, '"good"');
    await world.runtime.advance(60_000);
    const [letter] = await world.records(DLT);
    expect(headerText(letter!.headers, 'x-eventbus-dlt-cause')).toBe('too-large-for-retry');
    expect(calls).toHaveLength(2);
    expect(await world.committed()).toBe(2);
    expect(world.health(application).status).toBe('UP');
  });
});
