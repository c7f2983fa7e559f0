import type { BrokerError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { Appended } from '../../broker/partition.js';
import type { ProducerIdentity } from '../../broker/transactions.js';
import type { Link, LinkCall } from '../link.js';
import { toBrokerError } from '../refusal-errors.js';
import { asFenced } from './fenced.js';

/** Where batches go, and as whose. */
export interface BatchSink {
  readonly transactional: boolean;
  /** Of whoever writes one partition's sequence from 0 on. */
  identify(call: LinkCall): Promise<ProducerIdentity>;
  append(
    identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: LinkCall,
  ): Promise<Appended>;
  /** What to tell the user of what went wrong. */
  errorOf(error: unknown, topic: string): BrokerError;
}

/** To the log: a repetition cannot be told from a new batch. */
const NOBODY: ProducerIdentity = { producerId: -1, epoch: -1 };

/** Writes at least once. */
export class PlainSink implements BatchSink {
  readonly transactional = false;

  constructor(protected readonly link: Link) {}

  identify(_call: LinkCall): Promise<ProducerIdentity> {
    return Promise.resolve(NOBODY);
  }

  errorOf(error: unknown, topic: string): BrokerError {
    return toBrokerError(error, topic);
  }

  append(
    _identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: LinkCall,
  ): Promise<Appended> {
    const { topics, network } = this.link.cluster;
    network.charge(batch.length);
    return this.link.call(
      { operation: 'produce', partitions: [to] },
      () => topics.leading(to).append(batch),
      call,
    );
  }
}

/** Each partition's sequence has a producer id of its own, so that a gap in one concerns no other. */
export class IdempotentSink extends PlainSink {
  override identify(call: LinkCall): Promise<ProducerIdentity> {
    const { transactions } = this.link.cluster;
    return this.link.call({ operation: 'init-producer' }, () => transactions.newProducer(), call);
  }
}

export class TransactionSink implements BatchSink {
  readonly transactional = true;

  constructor(
    private readonly link: Link,
    private readonly transactionalId: string,
    private readonly identity: ProducerIdentity,
  ) {}

  identify(): Promise<ProducerIdentity> {
    return Promise.resolve(this.identity);
  }

  errorOf(error: unknown, topic: string): BrokerError {
    return asFenced(error, this.transactionalId) ?? toBrokerError(error, topic);
  }

  append(
    identity: ProducerIdentity,
    to: TopicPartition,
    batch: Buffer,
    call: LinkCall,
  ): Promise<Appended> {
    const { transactions, network } = this.link.cluster;
    network.charge(batch.length);
    return this.link.call(
      { operation: 'produce', partitions: [to] },
      () => transactions.append(this.transactionalId, identity, to, batch),
      call,
    );
  }
}
