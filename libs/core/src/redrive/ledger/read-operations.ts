import type { AdminSession } from '@nest-event-bus/broker';
import type { LedgerTopics } from './ledger-topic.js';
import { isPlanned, operationOf, OperationState, type StoredOperation } from './operation-state.js';
import type { StoredEntry } from './read-ledger.js';
import { readTail, readWholeLedger } from './read-whole-ledger.js';

export interface OperationsToRead {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
}

interface EntryToApply {
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

/** Returns the operations whose plan is in the ledger, by id. */
export async function readOperations(
  ledger: OperationsToRead,
  isWanted: (operation: string) => boolean = () => true,
): Promise<ReadonlyMap<string, StoredOperation>> {
  const states = new Map<string, OperationState>();
  const apply = ({ operation, stored }: EntryToApply): void => {
    if (operation === undefined || !isWanted(operation)) return;
    const state = states.get(operation) ?? new OperationState(operation);
    states.set(operation, state);
    state.apply(stored);
  };
  for (let partition = 0; partition < ledger.topics.ledgerPartitions; partition++)
    for await (const each of readResults(ledger, partition)) apply(each);
  for await (const each of readCommands(ledger)) apply(each);
  const planned = new Map<string, StoredOperation>();
  for (const [id, state] of states) if (isPlanned(state)) planned.set(id, state);
  return planned;
}
