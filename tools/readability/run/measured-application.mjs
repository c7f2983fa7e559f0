import { EventBusModule, EventHandler } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';

/** @typedef {{ topic: string, groupId: string }} MeasuredBinding */

export const SUCCEEDING = '{"fails":false}';
export const FAILING = '{"fails":true}';

/**
 * Retry options of the failing record: two calls, one retry topic with two calls, then the
 * dead-letter topic.
 */
const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };

/**
 * Starts an application with one binding. All other options have their defaults: JSON, no circuit
 * breaker, no idempotency. The application logs nothing, and the handler only throws or returns, so
 * that no other code runs.
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
  // Calls the decorator as the compiler would, because JavaScript has no decorators yet.
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
