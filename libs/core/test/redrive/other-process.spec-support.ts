import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import { LedgerCache } from '../../src/redrive/ledger/ledger-cache.js';
import type { RedriveTestBus } from './redrive-test-bus.spec-support.js';

/** Another process with a replay service for the same cluster. */
export function otherProcess(
  testBus: RedriveTestBus,
  wrap: (driver: BrokerDriver) => BrokerDriver = (driver) => driver,
  hostname = testBus.runtime.hostname(),
  warn: (message: string) => void = () => undefined,
): DltReplayService {
  const driver = wrap(memory({ broker: testBus.broker, clientId: 'other' }));
  const producer = driver.producer();
  const silent = (): void => undefined;
  return new DltReplayService({
    bindingOf: (ref) => testBus.application.get(ContainerRegistry).require(ref).config,
    bindings: () =>
      testBus.application
        .get(ContainerRegistry)
        .listAll()
        .map(({ config }) => config),
    driverOf: () => driver,
    producerOf: () => producer,
    circuitOf: () => undefined,
    ledgers: new LedgerCache(),
    events: { wants: () => false, emit: silent },
    runtime: onHost(testBus.runtime, hostname),
    logger: { debug: silent, info: silent, warn, error: silent },
  });
}

/** The same runtime on a host of another name. */
function onHost(runtime: Runtime, hostname: string): Runtime {
  return new Proxy(runtime, {
    get: (target, name) => {
      if (name === 'hostname') return () => hostname;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
