import type { AdminSession } from '@nest-event-bus/broker';
import type { LedgerTopics } from './ledger-topic.js';
import { OPERATIONS } from './operation-log.js';
import { OperationState, operationOf } from './operation-state.js';
import { readLedger, type StoredEntry } from './read-ledger.js';
import { readWholeLedger } from './read-whole-ledger.js';

export interface OperationWatchParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
}

/** Follows what the ledger says about one operation, while this node and others write to it. */
export class OperationWatch {
  readonly state: OperationState;
  readonly #readTo = new Map<number, number>();

  constructor(
    private readonly parts: OperationWatchParts,
    operation: string,
  ) {
    this.state = new OperationState(operation);
  }

  /** Reads the commands of operators, and the verdict about the canary. */
  readCommands(): Promise<void> {
    return this.#read(OPERATIONS);
  }

  /**
   * Reads the progress and the outcomes as well, which are in all partitions of the ledger. Commands
   * and verdicts are read last. So progress that followed a verdict is never known without it.
   */
  async readAll(): Promise<void> {
    const { ledgerPartitions } = this.parts.topics;
    for (let left = ledgerPartitions; left > 0; left--) await this.#read(left - 1);
  }

  async #read(partition: number): Promise<void> {
    const { admin, topics } = this.parts;
    const from = this.#readTo.get(partition);
    const entries: AsyncGenerator<StoredEntry, void> =
      from === undefined
        ? readWholeLedger({ admin, topics, partition })
        : readLedger(admin, { topic: topics.ledger, partition, from });
    for await (const stored of entries) {
      this.#readTo.set(partition, stored.offset + 1);
      if (operationOf(stored) === this.state.id) this.state.apply(stored);
    }
  }
}
