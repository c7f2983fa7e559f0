import { AuthorizationError } from '@nest-event-bus/broker';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { LedgerAccess, RedriveParts } from './ledger-access.js';

/**
 * Refuses to replay or decide with a ledger whose entries expire: a letter without an entry is
 * open, so it would be replayed again. A missing right to read the policy makes the check weaker.
 */
export async function requireLastingLedger(
  { logger }: Pick<RedriveParts, 'logger'>,
  { admin, binding, topics: { ledger } }: Pick<LedgerAccess, 'admin' | 'binding' | 'topics'>,
): Promise<void> {
  let policy: string;
  try {
    policy = (await admin.topicConfig(ledger))['cleanup.policy'] ?? '';
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    logger.warn(
      'The cleanup.policy of a ledger topic could not be checked. Grant DESCRIBE_CONFIGS on the topic, and make sure that its policy is compact',
      { binding: binding.name, ledger },
    );
    return;
  }
  const policies = policy.split(',').map((each) => each.trim());
  if (policies.includes('delete'))
    throw new RedriveRefusedException(
      binding.name,
      `the ledger topic '${ledger}' has cleanup.policy=${policy}, which deletes entries, and their letters would be replayed again. Set cleanup.policy=compact on it.`,
    );
}
