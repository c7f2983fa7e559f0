import { join } from 'node:path';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { describeWithKafka } from '../../support/index.js';
import { Child } from '../support/children/child-process.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

jest.setTimeout(180_000);

interface PrintedLine {
  readonly kind: 'started' | 'began' | 'lost';
  readonly at: number;
}

const PROGRAM = join(__dirname, '../support/children/suspended-orders.ts');
const PARTITIONS = 3;
const RECORDS_PER_PARTITION = 60;
/** Shorter than the suspension, so that all handlers are due to end when the process resumes. */
const HANDLER_MS = 300;
/** Longer than the session of both protocols: the shared broker has 6 s for `consumer`. */
const SUSPENSION_MS = 8_000;

const classic = { groupProtocol: 'classic', sessionTimeoutMs: '3s', heartbeatIntervalMs: '300ms' };
const consumer = { groupProtocol: 'consumer' };
const byKey = { processing: { by: 'key', maxConcurrency: 4 } };
// With MANUAL, the next slice does not wait for the commit of the last one.
const inBatches = { listenerType: 'BATCH', ackMode: 'MANUAL', maxPollRecords: 3 };
const withTier = { retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] } };

describeWithKafka('A process that was suspended for longer than its session', ({ brokers }) => {
  let bus: OrdersTestBus;
  let child: Child;

  const printed = (since = 0): PrintedLine[] =>
    child.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as PrintedLine)
      .filter(({ at }) => at >= since);
  const begun = (since = 0): number => printed(since).filter(({ kind }) => kind === 'began').length;

  beforeEach(() => {
    bus = new OrdersTestBus(brokers);
  });

  afterEach(async () => {
    child.kill();
    await child.ended;
    await bus.end();
  });

  it.each([
    ['by partition, classic', { ...classic }],
    ['by partition, consumer', { ...consumer }],
    ['by key, classic', { ...classic, ...byKey }],
    ['by key, consumer', { ...consumer, ...byKey }],
    ['in batches, classic', { ...classic, ...inBatches }],
    ['in batches, consumer', { ...consumer, ...inBatches }],
    ['in a retry tier, classic', { ...classic, ...withTier }],
    ['in a retry tier, consumer', { ...consumer, ...withTier }],
  ])(
    'begins no handler before it knows that its partitions are lost (%s)',
    async (_, properties) => {
      const firstCallFails = 'retry' in properties;
      await bus.createTopics({ tiers: firstCallFails ? 1 : 0, partitions: PARTITIONS });
      const keys = Array.from({ length: RECORDS_PER_PARTITION }, (__, index) => `${index}`);
      for (let partition = 0; partition < PARTITIONS; partition++)
        await bus.writeKeysTo(
          partition,
          keys.map((key) => `${partition}-${key}`),
        );
      const settings = {
        brokers,
        binding: { topic: bus.topic, groupId: bus.groupId, ...properties },
        handlerMs: HANDLER_MS,
        takesBatches: 'listenerType' in properties,
        firstCallFails,
      };
      child = new Child(PROGRAM, { args: [JSON.stringify(settings)] });
      await child.hasPrinted('started');
      await eventually(() => begun() >= PARTITIONS, {
        description: 'handlers to begin',
        timeoutMs: 60_000,
      });
      // The group has answered a heartbeat by then.
      await sleep(realRuntime, 1_000);
      child.suspend();
      await sleep(realRuntime, SUSPENSION_MS);
      const resumedAt = realRuntime.now();
      child.resume();
      await eventually(() => printed(resumedAt).some(({ kind }) => kind === 'lost'), {
        description: 'the loss of the partitions',
        timeoutMs: 60_000,
      });
      expect(printed(resumedAt)[0]?.kind).toBe('lost');
      await eventually(() => begun(resumedAt) >= PARTITIONS, {
        description: 'handlers to begin again',
        timeoutMs: 60_000,
      });
    },
  );
});
