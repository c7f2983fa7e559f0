import { EventBusShuttingDownException } from '../../errors/container-errors.js';

/**
 * Decides whether the bus accepts new work. The gate closes once, when the shutdown begins, and
 * never opens again.
 */
export class ShutdownGate {
  #isOpen = true;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** `operation` completes the sentence "Cannot ...". */
  assertOpen(operation: string): void {
    if (!this.#isOpen) throw new EventBusShuttingDownException(operation);
  }
}
