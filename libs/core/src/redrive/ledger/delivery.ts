import { AuthorizationError, UnsupportedError, type BrokerDriver } from '@nest-event-bus/broker';
import { isFence } from './claims/is-fence.js';
import type { LedgerTopics } from './ledger-topic.js';

/** How often a letter may be replayed by one operation: once, or again after a failure. */
export type ReplayDelivery = 'exactly-once' | 'at-least-once';

/** The ids of transactions of a redrive. `claim` is a partition, or the name of another use. */
export function transactionalIdOf({ deadLetters }: LedgerTopics, claim: number | 'plan'): string {
  return `eventbus-redrive-${deadLetters}-${claim}`;
}

/** Returns whether a cluster, or the rights in it, allow no transaction at all. */
export function refusesTransactions(error: unknown): boolean {
  return error instanceof AuthorizationError || error instanceof UnsupportedError;
}

/**
 * Finds out whether the cluster allows transactions, with an id that no claim uses: a claim that runs
 * is never fenced by a plan.
 */
export async function allowedDelivery(
  driver: BrokerDriver,
  topics: LedgerTopics,
): Promise<ReplayDelivery> {
  if (!driver.capabilities.transactions) return 'at-least-once';
  const producer = driver.producer({ transactionalId: transactionalIdOf(topics, 'plan') });
  try {
    await (await producer.transaction()).abort();
    return 'exactly-once';
  } catch (error) {
    if (refusesTransactions(error)) return 'at-least-once';
    // Another plan has asked with the same id, so transactions are allowed.
    if (isFence(error)) return 'exactly-once';
    throw error;
  } finally {
    await producer.close();
  }
}
