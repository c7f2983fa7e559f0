import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import type { ContainerFactory } from '../containers/container-factory.js';
import {
  EventBusDisabledException,
  EventBusNotReadyException,
} from '../errors/event-bus-state-errors.js';
import type { Clusters } from './clusters.js';
import type { FailureParts } from './failure-handling-factory.js';

interface BusParts {
  readonly options: ResolvedOptions;
  readonly clusters: Clusters;
  readonly factory: ContainerFactory;
  readonly failures: FailureParts;
  /** All declared handlers, also those of bindings that were unregistered. */
  readonly handlers: readonly HandlerDefinition[];
}

/**
 * The resolved options and the parts made from them. They are set in onModuleInit, because all
 * features and handlers are known only then.
 */
export class BusSettings {
  #parts: BusParts | undefined;

  set(parts: BusParts): void {
    this.#parts = parts;
  }

  get options(): ResolvedOptions | undefined {
    return this.#parts?.options;
  }

  /**
   * Returns the parts for an operation that needs a broker. Throws if the bus is not ready or
   * disabled. `operation` completes the sentence "Cannot ...".
   */
  require(operation: string): BusParts {
    if (!this.#parts) throw new EventBusNotReadyException(operation);
    if (this.#parts.options.enabled !== 'enabled') throw new EventBusDisabledException(operation);
    return this.#parts;
  }

  async closeClusters(): Promise<void> {
    await this.#parts?.clusters.close();
  }
}
