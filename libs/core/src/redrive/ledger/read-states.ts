import type { AdminSession } from '@nest-event-bus/broker';
import { ledgerPartitionOf, type LedgerTopics } from './ledger-topic.js';
import { PartitionStates, type PartitionOfLetters } from './partition-states.js';
import { readWholeLedger } from './read-whole-ledger.js';

export interface StatesToRead {
  readonly admin: Pick<AdminSession, 'readRange'>;
  /** Undefined if the ledger does not exist yet, so that all letters are open. */
  readonly topics: LedgerTopics | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The letters of which `outcomeOf` is asked. Default: none. */
  readonly outcomes?: PartitionOfLetters['outcomes'];
}

/** Reads what the ledger says about one partition of the dead-letter topic. */
export async function readStates(
  { admin, topics, signal, outcomes }: StatesToRead,
  partition: number,
): Promise<PartitionStates> {
  const topicId = topics?.deadLetterTopicId ?? '';
  const states = new PartitionStates({ topicId, partition, ...(outcomes && { outcomes }) });
  if (topics === undefined) return states;
  const where = { admin, topics, partition: ledgerPartitionOf(topics, partition) };
  for await (const stored of readWholeLedger({ ...where, signal })) states.apply(stored);
  return states;
}
