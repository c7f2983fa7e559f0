import { markMessage, setCause } from './error-text.js';
import type { RecordOutcome, TopicPartition } from './record.js';

export interface BrokerErrorOptions {
  readonly cause?: unknown;
  /** Kafka's error code, if a broker response caused the error. */
  readonly brokerCode?: number;
}

/**
 * The base class of all errors of a driver. Contains a stable `code`, whether a retry can help, and
 * a message with the next step for the user.
 */
export abstract class BrokerError extends Error {
  abstract readonly code: string;
  abstract readonly retriable: boolean;
  readonly brokerCode: number | undefined;

  constructor(message: string, options: BrokerErrorOptions = {}) {
    super(message);
    this.name = new.target.name;
    this.brokerCode = options.brokerCode;
    setCause(this, options.cause);
  }

  static {
    markMessage(this.prototype, 'own');
  }
}

/** An option that is unknown, malformed, contradictory or not supported by this driver. */
export class InvalidOptionError extends BrokerError {
  readonly code = 'INVALID_OPTION';
  readonly retriable = false;
}

/** The operation is not supported by this driver, or by the version of the broker. */
export class UnsupportedError extends BrokerError {
  readonly code = 'UNSUPPORTED';
  readonly retriable = false;
}

/** The session, producer, admin or driver was closed. */
export class ClosedError extends BrokerError {
  readonly code = 'CLOSED';
  readonly retriable = false;
}

/** The connection could not be established, or it was lost. */
export class ConnectionError extends BrokerError {
  readonly code = 'CONNECTION';
  readonly retriable = true;
}

/** The broker did not respond within the timeout, so the effect of the request is unknown. */
export class RequestTimeoutError extends BrokerError {
  readonly code = 'REQUEST_TIMEOUT';
  readonly retriable = true;
}

/** The broker sent bytes that do not follow the protocol. */
export class MalformedResponseError extends BrokerError {
  readonly code = 'MALFORMED_RESPONSE';
  readonly retriable = true;
}

/** The broker did not accept the credentials. */
export class AuthenticationError extends BrokerError {
  readonly code = 'AUTHENTICATION';
  readonly retriable = false;
}

/** The credentials are valid, but they do not allow this operation. */
export class AuthorizationError extends BrokerError {
  readonly code = 'AUTHORIZATION';
  readonly retriable = false;
}

export class UnknownTopicError extends BrokerError {
  readonly code = 'UNKNOWN_TOPIC';
  readonly retriable = true;

  constructor(
    readonly topic: string,
    message = `Topic "${topic}" does not exist on this cluster. Create it, or check its name: the driver never creates topics by asking for them.`,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

export class UnknownPartitionError extends BrokerError {
  readonly code = 'UNKNOWN_PARTITION';
  readonly retriable = true;

  constructor(
    readonly partition: TopicPartition,
    message = `Topic "${partition.topic}" has no partition ${partition.partition}.`,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

export class TopicExistsError extends BrokerError {
  readonly code = 'TOPIC_EXISTS';
  readonly retriable = false;
}

/** The broker refused the request; `brokerCode` contains Kafka's error code. */
export class RefusedError extends BrokerError {
  readonly code = 'REFUSED';

  constructor(
    message: string,
    readonly retriable: boolean,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** The members of the group have no assignment protocol in common. */
export class InconsistentGroupProtocolError extends BrokerError {
  readonly code = 'INCONSISTENT_GROUP_PROTOCOL';
  readonly retriable = false;
}

/**
 * The membership was taken over by another process with the same static member id, so this member
 * must stop.
 */
export class StaticMemberFencedError extends BrokerError {
  readonly code = 'STATIC_MEMBER_FENCED';
  readonly retriable = false;
}

/**
 * The static member id is still used by another session. With the `consumer` protocol the new
 * session waits.
 */
export class StaticMemberInUseError extends BrokerError {
  readonly code = 'STATIC_MEMBER_IN_USE';
  readonly retriable = true;
}

/** A commit that was not stored for the listed partitions. The other partitions were stored. */
export abstract class CommitError extends BrokerError {
  constructor(
    readonly partitions: readonly TopicPartition[],
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** The member no longer owns the partition. Its current owner decides the offset. */
export class FencedError extends CommitError {
  readonly code = 'FENCED';
  readonly retriable = false;
}

/** The metadata string is longer than the broker allows (4096 UTF-16 units by default). */
export class OffsetMetadataTooLargeError extends CommitError {
  readonly code = 'OFFSET_METADATA_TOO_LARGE';
  readonly retriable = false;
}

/** The broker refused a commit for another reason; see `cause`. */
export class CommitRefusedError extends CommitError {
  readonly code = 'COMMIT_REFUSED';

  constructor(
    partitions: readonly TopicPartition[],
    message: string,
    readonly retriable: boolean,
    options: BrokerErrorOptions = {},
  ) {
    super(partitions, message, options);
  }
}

/** A `send` with unacknowledged records; `outcomes` has one entry per record, in order. */
export class SendError extends BrokerError {
  readonly code = 'SEND';

  constructor(
    readonly outcomes: readonly RecordOutcome[],
    message: string,
    readonly retriable: boolean,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/**
 * The transactional id was taken over by another producer, or the transaction was open for too
 * long. The cluster has aborted it, and this producer cannot write any more.
 */
export class ProducerFencedError extends BrokerError {
  readonly code = 'PRODUCER_FENCED';
  readonly retriable = false;

  constructor(
    readonly transactionalId: string,
    message = `The producer with the transactional id "${transactionalId}" is fenced: another producer has taken over the id, or the transaction was open for longer than transactionTimeoutMs. The transaction was aborted. If no other producer uses the id, create a new producer with it.`,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/**
 * The response to a commit was lost, so its outcome is unknown. A call of `abort` finds out the
 * outcome.
 */
export class TransactionOutcomeUnknownError extends BrokerError {
  readonly code = 'TRANSACTION_OUTCOME_UNKNOWN';
  readonly retriable = false;
}

/**
 * The transaction cannot be aborted, because its commit succeeded although the response was lost.
 */
export class TransactionCommittedError extends BrokerError {
  readonly code = 'TRANSACTION_COMMITTED';
  readonly retriable = false;
}

/** The record exceeds the size limit of the topic, the broker or the producer. */
export class RecordTooLargeError extends BrokerError {
  readonly code = 'RECORD_TOO_LARGE';
  readonly retriable = false;
}

/** The buffer of the producer stayed full until the deadline. */
export class BufferFullError extends BrokerError {
  readonly code = 'BUFFER_FULL';
  readonly retriable = true;
}

/** A single partition stopped; the others continue. A `seek` past the failed offset restarts it. */
export abstract class PartitionError extends BrokerError {
  readonly retriable = false;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** The offset at which the partition stopped. */
    readonly offset: number,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** The offset to read from is not in the log, and `offsetReset: 'none'` does not allow another. */
export class OffsetOutOfRangeError extends PartitionError {
  readonly code = 'OFFSET_OUT_OF_RANGE';

  constructor(
    topic: string,
    partition: number,
    offset: number,
    readonly low: number,
    readonly high: number,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(topic, partition, offset, message, options);
  }
}

/** The group has no committed offset, and `offsetReset: 'none'` does not allow a default. */
export class NoOffsetError extends PartitionError {
  readonly code = 'NO_OFFSET';
}

/** The log was truncated below records that were already read (an unclean leader election). */
export class LogTruncatedError extends PartitionError {
  readonly code = 'LOG_TRUNCATED';

  constructor(
    topic: string,
    partition: number,
    offset: number,
    /**
     * The first offset at which the log differs from the records that were read; undefined if the
     * leader does not know it.
     */
    readonly agreedEnd: number | undefined,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(topic, partition, offset, message, options);
  }
}

/** The topic was deleted and recreated: offsets of the old topic are meaningless in the new one. */
export class TopicRecreatedError extends PartitionError {
  readonly code = 'TOPIC_RECREATED';
}

/**
 * A batch that cannot be read: corrupt, malicious, too large when inflated, or with an unknown
 * codec.
 */
export class PoisonBatchError extends PartitionError {
  readonly code = 'POISON_BATCH';

  constructor(
    topic: string,
    partition: number,
    offset: number,
    /** The first offset after the batch, if it is known. A seek to this offset skips the batch. */
    readonly nextOffset: number | undefined,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(topic, partition, offset, message, options);
  }
}
