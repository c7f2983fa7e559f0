import { EventBusModule, EventHandler } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';

/** @typedef {{ topic: string, groupId: string }} MeasuredBinding */

export const SUCCEEDING = '{"fails":false}';
export const FAILING = '{"fails":true}';

/** Retries of the failing record: two calls, one retry topic with two calls, then the dead-letter topic. */
const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };

/**
 * Starts an application with one binding. The rest is the default: JSON, no circuit breaker, no idempotency.
 * Nothing is logged, and the handler only throws or returns, so that nothing else runs.
 * @param {readonly string[]} brokers
 * @param {MeasuredBinding} binding
 */
export function startApplication(brokers, { topic, groupId }) {
  class Handlers {
    /** @param {{ value: { fails: boolean } }} record */
    handle({ value }) {
      if (value.fails) throw new Error('The payload asks the handler to fail.');
    }
  }
  // JavaScript has no decorators yet, so the decorator is called as the compiler would call it.
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle') ?? {};
  EventHandler('measured')(Handlers.prototype, 'handle', method);
  const bindings = {
    measured: { topic, groupId, provisioning: /** @type {const} */ ('none'), retry },
  };
  return NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [EventBusModule.forRoot({ brokers, bindings })],
      providers: [Handlers],
    },
    { logger: false, abortOnError: false },
  );
}
