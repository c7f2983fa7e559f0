import {
  ContainerRegistry,
  EventBusMetrics,
  EventBusModule,
  EventHandler,
  LifecycleManager,
} from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';

const JOIN_TIMEOUT_MS = 60_000;

/** The optional features of an application; metrics and retries are enabled by default. */
export const EVERYTHING_ON = { circuitBreaker: { enabled: true } };

/**
 * Starts an application with one binding that has joined its group and reads nothing until `go`, because
 * another bench measures the start of Nest and the group.
 */
export async function startBus({
  brokers,
  topic,
  groupId,
  handle,
  payload,
  isBatch = false,
  options = {},
  imports = [],
  ...properties
}) {
  class Handlers {}
  Handlers.prototype.handle = handle;
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
  const decorate = isBatch ? EventHandler.Batch : EventHandler;
  decorate('bench', payload && { payload })(Handlers.prototype, 'handle', method);
  const binding = { topic, groupId, autoStartup: false, provisioning: 'none', ...properties };
  const application = await NestFactory.createApplicationContext(
    {
      module: class Application {},
      imports: [
        EventBusModule.forRoot({ brokers, ...options, bindings: { bench: binding } }),
        ...imports,
      ],
      providers: [Handlers],
    },
    // Handlers of some benches fail on purpose, and each failure is logged as an error.
    { logger: ['fatal'], abortOnError: false },
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

/** Reads the metrics, which are part of what is measured. */
function succeeded(metrics) {
  const { samples } = metrics.collect().find(({ name }) => name === 'eventbus.records.processed');
  const ofMain = ({ labels: { tier, outcome } }) => tier === '0' && outcome === 'succeeded';
  return samples.filter(ofMain).reduce((sum, { value }) => sum + value, 0);
}

async function until(condition) {
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('The binding did not join its group.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
