import type { BrokerError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { AppendResult } from '../../broker/log/partition.js';
import type { ProducerIdentity } from '../../broker/transactions/transactions.js';
import type { Connection, RequestLimits } from '../connection.js';
import { toBrokerError } from '../refusal-errors.js';
import { asProducerFencedError } from './producer-fenced.js';

/** The destination of batches, with the identity of their producer. */
export interface BatchSink {
  readonly transactional: boolean;
  /** Returns the identity of a producer that starts at sequence 0. */
  identify(call: RequestLimits): Promise<ProducerIdentity>;
  append(
    identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: RequestLimits,
  ): Promise<AppendResult>;
  /** Converts an error into the one that the user gets. */
  errorOf(error: unknown, topic: string): BrokerError;
}

/**
 * Identity of a producer without idempotence: the log cannot distinguish a repeated batch from a
 * new one.
 */
const NO_PRODUCER: ProducerIdentity = { producerId: -1, epoch: -1 };

/** Writes with at-least-once delivery. */
export class PlainSink implements BatchSink {
  readonly transactional = false;

  constructor(protected readonly connection: Connection) {}

  identify(_call: RequestLimits): Promise<ProducerIdentity> {
    return Promise.resolve(NO_PRODUCER);
  }

  errorOf(error: unknown, topic: string): BrokerError {
    return toBrokerError(error, topic);
  }

  append(
    _identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: RequestLimits,
  ): Promise<AppendResult> {
    const { topics, network } = this.connection.cluster;
    network.countWork(batch.length);
    return this.connection.call(
      { operation: 'produce', partitions: [to] },
      () => topics.partitionAtLeader(to).append(batch),
      call,
    );
  }
}

/**
 * Uses one producer id per partition, so that a gap in one sequence does not affect other
 * partitions.
 */
export class IdempotentSink extends PlainSink {
  override identify(call: RequestLimits): Promise<ProducerIdentity> {
    const { transactions } = this.connection.cluster;
    return this.connection.call(
      { operation: 'init-producer' },
      () => transactions.newProducer(),
      call,
    );
  }
}

export class TransactionSink implements BatchSink {
  readonly transactional = true;

  constructor(
    private readonly connection: Connection,
    private readonly transactionalId: string,
    private readonly identity: ProducerIdentity,
  ) {}

  identify(): Promise<ProducerIdentity> {
    return Promise.resolve(this.identity);
  }

  errorOf(error: unknown, topic: string): BrokerError {
    return asProducerFencedError(error, this.transactionalId) ?? toBrokerError(error, topic);
  }

  append(
    identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: RequestLimits,
  ): Promise<AppendResult> {
    const { transactions, network } = this.connection.cluster;
    network.countWork(batch.length);
    return this.connection.call(
      { operation: 'produce', partitions: [to] },
      () => transactions.append(this.transactionalId, identity, to, batch),
      call,
    );
  }
}
