import type { BrokerDriver } from '@nest-event-bus/broker';
import type { ContractBroker, ContractTransaction, Undo } from '@nest-event-bus/broker/contract';
import { MemoryBroker, memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { AdvancingClock } from './advancing-clock.js';

/** The environment of a case on a memory broker, in virtual time. */
export class MemoryContractBroker implements ContractBroker {
  readonly runtime = new VirtualRuntime();
  readonly #broker = new MemoryBroker({ runtime: this.runtime, latencyMs: 1 });
  readonly #clock = new AdvancingClock(this.runtime);
  readonly #clientIds = new Map<BrokerDriver, string>();
  readonly #writers: BrokerDriver[] = [];

  createDriver(): BrokerDriver {
    const clientId = `process-${this.#clientIds.size + 1}`;
    const driver = memory({ broker: this.#broker, clientId });
    this.#clientIds.set(driver, clientId);
    return driver;
  }

  openTransaction(): Promise<ContractTransaction> {
    const driver = memory({ broker: this.#broker, clientId: 'transactional-writer' });
    this.#writers.push(driver);
    const transactionalId = this.runtime.uuid();
    return driver.producer({ transactionalId }).transaction();
  }

  unplug(driver: BrokerDriver): Undo {
    return liftFault(this.#broker.faults.unplug(this.#requestsOf(driver)));
  }

  loseAnswers(driver: BrokerDriver): Undo {
    const match = { ...this.#requestsOf(driver), operation: 'produce' } as const;
    return liftFault(this.#broker.faults.loseAnswers(match));
  }

  delayAnswers(driver: BrokerDriver, delayMs: number): Undo {
    return liftFault(this.#broker.faults.delayAnswers(this.#requestsOf(driver), delayMs));
  }

  refuseWrites(topic: string): Undo {
    const match = { operation: 'produce', topic } as const;
    return liftFault(this.#broker.faults.refuse(match, 'NOT_ENOUGH_REPLICAS'));
  }

  expelMember(groupId: string, memberId: string): void {
    this.#broker.faults.expireSession(groupId, memberId);
  }

  loseCoordinator(groupId: string): void {
    this.#broker.faults.loseCoordinator(groupId, { times: 2 });
  }

  async close(): Promise<void> {
    await Promise.all(this.#writers.map((driver) => driver.close()));
    await this.#clock.stop();
  }

  #requestsOf(driver: BrokerDriver): { readonly clientId: string } {
    const clientId = this.#clientIds.get(driver);
    if (clientId === undefined) throw new Error('This driver belongs to another case.');
    return { clientId };
  }
}

function liftFault(fault: { lift(): void }): Undo {
  return () => fault.lift();
}
