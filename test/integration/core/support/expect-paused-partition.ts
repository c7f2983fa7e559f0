import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import type { OrdersTestBus } from './orders-test-bus.js';

export const once = { tier0: { maxAttempts: 1 }, tiers: [] };
export const dlt = { publishTimeoutMs: 1_500 };
const PAUSED_FOR_MS = 2_000;

export const failBad = ({ value }: { readonly value: unknown }): void => {
  if (String(value).startsWith('bad')) throw new Error('the warehouse does not answer');
};

/**
 * Expects that the failed record stays in its partition, because it cannot be written to `topic`, and is not
 * handled again.
 */
export async function expectPaused(
  testBus: OrdersTestBus,
  application: INestApplicationContext,
  topic: string,
  handledBefore = 0,
): Promise<void> {
  const { mainContainer } = application.get(ContainerRegistry).require('orders');
  await testBus.until('the partition to back off', () =>
    mainContainer.status.partitionPauses.some(({ reasons }) => reasons.includes('backoff')),
  );
  await testBus.until('health to name the topic', () => {
    const { status, reasons } = testBus.health(application);
    return status === 'DOWN' && reasons.join().includes(`topic '${topic}' cannot be written to`);
  });
  await sleep(realRuntime, PAUSED_FOR_MS);
  expect(testBus.calls).toHaveLength(handledBefore + 1);
  expect(testBus.health(application).status).toBe('DOWN');
  expect(await testBus.committed()).toBe(handledBefore);
}

/** Expects that the failed record was written and the record behind it was handled, without a command. */
export async function expectRecovered(
  testBus: OrdersTestBus,
  application: INestApplicationContext,
  handledBefore = 0,
): Promise<void> {
  const committed = handledBefore + 2;
  await testBus.until(
    'both to be committed',
    async () => (await testBus.committed()) === committed,
  );
  await testBus.until('health to be UP', () => testBus.health(application).status === 'UP');
}

export async function expectDeadLettered(
  testBus: OrdersTestBus,
  application: INestApplicationContext,
): Promise<void> {
  await expectRecovered(testBus, application);
  expect(testBus.calls.map(({ value }) => String(value).slice(0, 4).trim())).toEqual([
    'bad',
    'good',
  ]);
  const letters = await testBus.letters();
  expect(letters).toMatchObject([{ totalAttempts: 1, originalTopic: testBus.topic }]);
}
