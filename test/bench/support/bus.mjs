import {
  ContainerRegistry,
  EventBusMetrics,
  EventBusModule,
  EventHandler,
  LifecycleManager,
} from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';

const PATIENCE_MS = 60_000;

/** What an application may switch on, all of it; metrics and retries are on by themselves. */
export const EVERYTHING_ON = { circuitBreaker: { enabled: true } };

/**
 * An application with one binding that has joined its group and reads nothing until `go`: how long
 * Nest and the group take to come up belongs to another bench.
 */
export async function startBus({ brokers, topic, groupId, handle, payload, ...properties }) {
  class Handlers {}
  Handlers.prototype.handle = handle;
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
  EventHandler('bench', payload && { payload })(Handlers.prototype, 'handle', method);
  const binding = { topic, groupId, autoStartup: false, provisioning: 'none', ...properties };
  const application = await NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [EventBusModule.forRoot({ brokers, bindings: { bench: binding } })],
      providers: [Handlers],
    },
    { logger: ['error'], abortOnError: false },
  );
  const lifecycle = application.get(LifecycleManager);
  const { mainContainer } = application.get(ContainerRegistry).require('bench');
  await lifecycle.start('bench');
  await lifecycle.pause('bench');
  await until(() => mainContainer.status.state === 'joined');
  return {
    go: () => lifecycle.resume('bench'),
    close: () => application.close(),
    counts: () => succeeded(application.get(EventBusMetrics)),
  };
}

/** Asks the metrics, which are part of what is measured. */
function succeeded(metrics) {
  const { samples } = metrics.collect().find(({ name }) => name === 'eventbus.records.processed');
  const ofMain = ({ labels: { tier, outcome } }) => tier === '0' && outcome === 'succeeded';
  return samples.find(ofMain).value;
}

async function until(condition) {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('The binding did not join its group.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
