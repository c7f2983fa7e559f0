import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import { LedgerCache } from '../../src/redrive/ledger/ledger-cache.js';
import type { RedriveTestBus } from './redrive-test-bus.spec-support.js';

/** Another process with a replay service for the same cluster. */
export function otherProcess(
  testBus: RedriveTestBus,
  wrap: (driver: BrokerDriver) => BrokerDriver = (driver) => driver,
): DltReplayService {
  const driver = wrap(memory({ broker: testBus.broker, clientId: 'other' }));
  const producer = driver.producer();
  const silent = (): void => undefined;
  return new DltReplayService({
    bindingOf: (ref) => testBus.application.get(ContainerRegistry).require(ref).config,
    driverOf: () => driver,
    producerOf: () => producer,
    circuitOf: () => undefined,
    ledgers: new LedgerCache(),
    events: { wants: () => false, emit: silent },
    runtime: testBus.runtime,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
}
