import { RefusedError } from '../../../port/errors.js';
import type { TransactionalProducer } from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { PartitionRegistrar, OnRegistered } from '../sender-context.js';

/** Prepares partitions for writes in the open transaction. */
export interface TransactionPartitionRegistrar extends PartitionRegistrar {
  /** True if the coordinator knows the transaction, or may know it. */
  readonly hasBegun: boolean;
  notify(onRegistered: OnRegistered): this;
  /** Resets the registrar for the next transaction, with this producer id and epoch. */
  startNextTransaction(producer: TransactionalProducer): void;
}

/**
 * Starts the sequence of the partition under this producer id. Returns an error if that is not
 * possible.
 */
export function assignProducerId(
  { topic, partition, sequence }: PartitionQueue,
  { producerId, producerEpoch }: TransactionalProducer,
): RefusedError | undefined {
  const identity = { producerId, producerEpoch, transactional: true };
  if (sequence === undefined || sequence.belongsTo(identity)) return undefined;
  if (!sequence.accepts(identity)) return sequenceUnusable(topic, partition);
  sequence.begin(identity);
  return undefined;
}

function sequenceUnusable(topic: string, partition: number): RefusedError {
  return new RefusedError(
    `Partition ${partition} of "${topic}" has earlier records with an unknown result, so nothing can be written after them. Abort the transaction.`,
    false,
  );
}
