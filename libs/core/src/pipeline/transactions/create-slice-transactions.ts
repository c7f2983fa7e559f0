import type { BrokerDriver, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { SliceTransactions } from './slice-transactions.js';

export interface BindingTransactionsParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'transactions'>;
  /** The group of the container. A retry topic is read in a group of its own. */
  readonly groupId: string;
  readonly driver: Pick<BrokerDriver, 'producer'>;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Creates the transactions of a container, or returns undefined if the binding does not use them.
 */
export function createSliceTransactions({
  binding,
  groupId,
  driver,
  runtime,
  logger,
}: BindingTransactionsParts): SliceTransactions | undefined {
  const { name, transactions } = binding;
  if (!transactions.enabled) return undefined;
  const prefix = `${transactions.idPrefix}${groupId}-${name}-${runtime.hostname()}`;
  const transactionalId = (sessionIndex: number): string => `${prefix}-${sessionIndex}`;
  return new SliceTransactions({ driver, transactionalId, runtime, logger });
}
