import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import type { OrdersStage } from './orders-stage.js';

export const once = { tier0: { maxAttempts: 1 }, tiers: [] };
export const dlt = { publishTimeoutMs: 1_500 };
const HELD_FOR_MS = 2_000;

export const failBad = ({ value }: { readonly value: unknown }): void => {
  if (String(value).startsWith('bad')) throw new Error('the warehouse does not answer');
};

/** A record that failed cannot be written there: it waits in its place, and nobody handles it again meanwhile. */
export async function expectHeld(
  stage: OrdersStage,
  application: INestApplicationContext,
  topic: string,
  handledBefore = 0,
): Promise<void> {
  const { mainContainer } = application.get(ContainerRegistry).require('orders');
  await stage.until('the partition to back off', () =>
    mainContainer.status.partitionPauses.some(({ reasons }) => reasons.includes('backoff')),
  );
  await stage.until('health to name the topic', () => {
    const { status, reasons } = stage.health(application);
    return status === 'DOWN' && reasons.join().includes(`topic '${topic}' cannot be written to`);
  });
  await sleep(realRuntime, HELD_FOR_MS);
  expect(stage.calls).toHaveLength(handledBefore + 1);
  expect(stage.health(application).status).toBe('DOWN');
  expect(await stage.committed()).toBe(handledBefore);
}

/** It went where it belongs by itself, and what waited behind it was handled. */
export async function expectRecovered(
  stage: OrdersStage,
  application: INestApplicationContext,
  handledBefore = 0,
): Promise<void> {
  const committed = handledBefore + 2;
  await stage.until('both to be committed', async () => (await stage.committed()) === committed);
  await stage.until('health to be UP', () => stage.health(application).status === 'UP');
}

export async function expectDeadLettered(
  stage: OrdersStage,
  application: INestApplicationContext,
): Promise<void> {
  await expectRecovered(stage, application);
  expect(stage.calls.map(({ value }) => String(value).slice(0, 4).trim())).toEqual(['bad', 'good']);
  const letters = await stage.letters();
  expect(letters).toMatchObject([{ totalAttempts: 1, originalTopic: stage.topic }]);
}
