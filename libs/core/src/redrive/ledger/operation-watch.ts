import type { AdminSession } from '@nest-event-bus/broker';
import type { LedgerTopics } from './ledger-topic.js';
import { OperationState } from './operation-state.js';
import { readCommands, readResults } from './read-operations.js';

export interface OperationWatchParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
}

/** Follows what the ledger says about one operation, while this node and others write to it. */
export class OperationWatch {
  readonly state: OperationState;
  readonly #readTo = new Map<number, number>();
  #commandsReadTo: number | undefined;

  constructor(
    private readonly parts: OperationWatchParts,
    operation: string,
  ) {
    this.state = new OperationState(operation);
  }

  /** Reads the commands of operators, and the verdict about the canary. */
  async readCommands(): Promise<void> {
    for await (const { operation, stored } of readCommands(this.parts, this.#commandsReadTo)) {
      this.#commandsReadTo = stored.offset + 1;
      if (operation === this.state.id) this.state.apply(stored);
    }
  }

  /**
   * Reads the progress and the outcomes as well, which are in all partitions of the ledger. Commands
   * and verdicts are read last. So progress that followed a verdict is never known without it.
   */
  async readAll(): Promise<void> {
    const { ledgerPartitions } = this.parts.topics;
    for (let left = ledgerPartitions; left > 0; left--) await this.#readResults(left - 1);
    await this.readCommands();
  }

  async #readResults(partition: number): Promise<void> {
    const from = this.#readTo.get(partition);
    for await (const { operation, stored } of readResults(this.parts, partition, from)) {
      this.#readTo.set(partition, stored.offset + 1);
      if (operation === this.state.id) this.state.apply(stored);
    }
  }
}
