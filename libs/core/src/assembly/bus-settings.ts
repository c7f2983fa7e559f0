import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import type { ContainerFactory } from '../containers/container-factory.js';
import {
  EventBusDisabledException,
  EventBusNotReadyException,
} from '../errors/event-bus-state-errors.js';
import type { Clusters } from './clusters.js';
import type { FailureParts } from './failure-handling-factory.js';

interface Settled {
  readonly options: ResolvedOptions;
  readonly clusters: Clusters;
  readonly factory: ContainerFactory;
  readonly failures: FailureParts;
}

/** What the options came to. It is known from onModuleInit on, when all features and handlers can be seen. */
export class BusSettings {
  #settled: Settled | undefined;

  set(settled: Settled): void {
    this.#settled = settled;
  }

  get options(): ResolvedOptions | undefined {
    return this.#settled?.options;
  }

  /** For what needs a broker. `operation` completes the sentence "Cannot ...". */
  require(operation: string): Settled {
    if (!this.#settled) throw new EventBusNotReadyException(operation);
    if (this.#settled.options.enabled !== 'enabled') throw new EventBusDisabledException(operation);
    return this.#settled;
  }

  async closeClusters(): Promise<void> {
    await this.#settled?.clusters.close();
  }
}
