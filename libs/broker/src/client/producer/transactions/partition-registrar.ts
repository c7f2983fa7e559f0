import { RefusedError } from '../../../port/errors.js';
import type { TransactionalProducer } from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { Desk, OnServed } from '../sender-options.js';

/** Where partitions get what they need before they may write in the transaction that is open. */
export interface TransactionDesk extends Desk {
  /** Whether the coordinator was told of the transaction, or may have been. */
  readonly isBegun: boolean;
  serving(onServed: OnServed): this;
  /** For the transaction that comes after this one, as this producer. */
  startAnew(producer: TransactionalProducer): void;
}

/** Lets the partition count as this producer; the error where it cannot. */
export function giveNumbers(
  { topic, partition, sequence }: PartitionQueue,
  { producerId, producerEpoch }: TransactionalProducer,
): RefusedError | undefined {
  const identity = { producerId, producerEpoch, transactional: true };
  if (sequence === undefined || sequence.isOf(identity)) return undefined;
  if (!sequence.accepts(identity)) return spoilt(topic, partition);
  sequence.begin(identity);
  return undefined;
}

function spoilt(topic: string, partition: number): RefusedError {
  return new RefusedError(
    `Records of unknown fate went before on partition ${partition} of "${topic}": nothing can be written there behind them. Abort the transaction.`,
    false,
  );
}
