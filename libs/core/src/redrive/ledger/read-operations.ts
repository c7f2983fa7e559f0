import type { AdminSession } from '@nest-event-bus/broker';
import type { LedgerTopics } from './ledger-topic.js';
import { operationOf } from './operation-state.js';
import type { StoredEntry } from './read-ledger.js';
import { readTail, readWholeLedger } from './read-whole-ledger.js';

export interface OperationsToRead {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
}

export interface EntryToApply {
  /** Undefined if the entry is about no operation. */
  readonly operation: string | undefined;
  readonly stored: StoredEntry;
}

/** Plans and commands are in this partition of the ledger. */
export const OPERATIONS = 0;

/**
 * Reads plans, commands, verdicts, brakes and actions, from an offset or all of them. An open
 * transaction, as a killed process leaves it behind, does not hide them: they are written outside of
 * transactions, and read without waiting for the end of one.
 */
export async function* readCommands(
  { admin, topics }: OperationsToRead,
  from?: number,
): AsyncGenerator<EntryToApply, void> {
  const ledger = { admin, topics, partition: OPERATIONS, kinds: 'commands' as const };
  const entries = from === undefined ? readWholeLedger(ledger) : readTail(ledger, from);
  for await (const stored of entries) {
    const about = operationOf(stored);
    yield { operation: about?.isCommand === true ? about.operation : undefined, stored };
  }
}

/** Reads the committed progress and the outcomes of a partition, from an offset or all of them. */
export async function* readResults(
  { admin, topics }: OperationsToRead,
  partition: number,
  from?: number,
): AsyncGenerator<EntryToApply, void> {
  const ledger = { admin, topics, partition };
  const entries = from === undefined ? readWholeLedger(ledger) : readTail(ledger, from);
  for await (const stored of entries) {
    const about = operationOf(stored);
    yield { operation: about?.isCommand === false ? about.operation : undefined, stored };
  }
}
