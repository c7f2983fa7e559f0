import type { RecordOutcome, TopicPartition } from './record.js';

export interface BrokerErrorOptions {
  readonly cause?: unknown;
  /** The broker's own error code, where one caused this. */
  readonly brokerCode?: number;
}

/** Every failure of a driver: a stable `code`, whether trying again can help, and what to do about it. */
export abstract class BrokerError extends Error {
  abstract readonly code: string;
  abstract readonly retriable: boolean;
  readonly brokerCode: number | undefined;

  constructor(message: string, options: BrokerErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.brokerCode = options.brokerCode;
  }
}

/** An option that is unknown, malformed, contradictory or not supported by this driver. */
export class InvalidOptionError extends BrokerError {
  readonly code = 'INVALID_OPTION';
  readonly retriable = false;
}

/** What was asked is not offered by this driver, or by this broker's version. */
export class UnsupportedError extends BrokerError {
  readonly code = 'UNSUPPORTED';
  readonly retriable = false;
}

/** The session, producer, admin or driver was closed. */
export class ClosedError extends BrokerError {
  readonly code = 'CLOSED';
  readonly retriable = false;
}

/** No broker could be reached, or a connection broke. */
export class ConnectionError extends BrokerError {
  readonly code = 'CONNECTION';
  readonly retriable = true;
}

/** No answer within the time allowed: the effect of the request is unknown. */
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

/** The credentials are good, but they do not allow this. */
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

/** The broker refused for a reason of its own; `brokerCode` has Kafka's error code. */
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

/** The members of the group share no assignment protocol. */
export class InconsistentGroupProtocolError extends BrokerError {
  readonly code = 'INCONSISTENT_GROUP_PROTOCOL';
  readonly retriable = false;
}

/** Another process joined with the same static member id; this one must stop. */
export class StaticMemberFencedError extends BrokerError {
  readonly code = 'STATIC_MEMBER_FENCED';
  readonly retriable = false;
}

/** Another session has this static member id, and has not gone: in protocol `consumer` the newcomer waits. */
export class StaticMemberInUseError extends BrokerError {
  readonly code = 'STATIC_MEMBER_IN_USE';
  readonly retriable = true;
}

/** Which partitions of a commit were not stored. Partitions that are not listed were. */
export abstract class CommitError extends BrokerError {
  constructor(
    readonly partitions: readonly TopicPartition[],
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** The partition is not ours any more: whoever owns it now decides its offset. */
export class FencedError extends CommitError {
  readonly code = 'FENCED';
  readonly retriable = false;
}

/** The metadata string is longer than the broker allows (4096 UTF-16 units by default). */
export class OffsetMetadataTooLargeError extends CommitError {
  readonly code = 'OFFSET_METADATA_TOO_LARGE';
  readonly retriable = false;
}

/** The broker refused a commit for another reason, found in `cause`. */
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

/** A `send` of which not every record was acknowledged; `outcomes` has one entry per record, in order. */
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
 * Another producer has begun to use the transactional id, or the transaction was open for too
 * long: the cluster has aborted it, and this producer writes nothing any more.
 */
export class ProducerFencedError extends BrokerError {
  readonly code = 'PRODUCER_FENCED';
  readonly retriable = false;

  constructor(
    readonly transactionalId: string,
    message = `The producer with the transactional id "${transactionalId}" is fenced: another one has taken the id over, or its transaction was open for longer than transactionTimeoutMs. Nothing of the transaction counts. If the id is yours alone, make another producer with it.`,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** No answer told whether the transaction is committed. Its `abort` finds out. */
export class TransactionOutcomeUnknownError extends BrokerError {
  readonly code = 'TRANSACTION_OUTCOME_UNKNOWN';
  readonly retriable = false;
}

/** The transaction cannot be aborted: its commit, of which no answer told, had come through. */
export class TransactionCommittedError extends BrokerError {
  readonly code = 'TRANSACTION_COMMITTED';
  readonly retriable = false;
}

/** The record is larger than the topic, the broker or the sender's own bound accepts. */
export class RecordTooLargeError extends BrokerError {
  readonly code = 'RECORD_TOO_LARGE';
  readonly retriable = false;
}

/** The sender's buffer is full and stayed full until the deadline. */
export class BufferFullError extends BrokerError {
  readonly code = 'BUFFER_FULL';
  readonly retriable = true;
}

/** One partition stopped; the others go on. `seek` past the trouble starts it again. */
export abstract class PartitionError extends BrokerError {
  readonly retriable = false;

  constructor(
    readonly topic: string,
    readonly partition: number,
    /** The offset at which the partition stands. */
    readonly offset: number,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** The offset to read from is not in the log, and `offsetReset: 'none'` forbids to choose another. */
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

/** The group has no committed offset, and `offsetReset: 'none'` forbids to choose one. */
export class NoOffsetError extends PartitionError {
  readonly code = 'NO_OFFSET';
}

/** The log was cut back behind records that were already read (an unclean leader election). */
export class LogTruncatedError extends PartitionError {
  readonly code = 'LOG_TRUNCATED';

  constructor(
    topic: string,
    partition: number,
    offset: number,
    /** Up to here the log is the one that was read; undefined where its leader cannot tell. */
    readonly agreedEnd: number | undefined,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(topic, partition, offset, message, options);
  }
}

/** The topic was deleted and created again: offsets of the old one mean nothing in the new one. */
export class TopicRecreatedError extends PartitionError {
  readonly code = 'TOPIC_RECREATED';
}

/** A batch that cannot be read: broken, hostile, too large when inflated, or of an unknown codec. */
export class PoisonBatchError extends PartitionError {
  readonly code = 'POISON_BATCH';

  constructor(
    topic: string,
    partition: number,
    offset: number,
    /** The first offset after the batch, where that can be told: seek there to leave it behind. */
    readonly nextOffset: number | undefined,
    message: string,
    options: BrokerErrorOptions = {},
  ) {
    super(topic, partition, offset, message, options);
  }
}
