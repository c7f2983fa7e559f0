/**
 * The headers that the bus itself writes. Every value is text: numbers in decimal, times in
 * milliseconds since 1970.
 */
export const EVENTBUS_HEADERS = Object.freeze({
  /** Version of this format. An older version keeps headers that a newer one has added. */
  version: 'x-eventbus-version',
  /**
   * The header profiles in which the record was written, with a comma between them. Only their names
   * are the bus's own: all others are those of the producer.
   */
  headerProfiles: 'x-eventbus-header-profiles',
  /**
   * The binding for which a record in a retry topic, or a replayed one, is meant. Other bindings
   * skip it.
   */
  bindingName: 'x-eventbus-binding-name',
  groupId: 'x-eventbus-group-id',
  receivedTimestamp: 'x-eventbus-received-timestamp',
  consumerInstance: 'x-eventbus-consumer-instance',
  originalTopic: 'x-eventbus-original-topic',
  originalPartition: 'x-eventbus-original-partition',
  originalOffset: 'x-eventbus-original-offset',
  originalTimestamp: 'x-eventbus-original-timestamp',
  /** `CreateTime` or `LogAppendTime`: whose clock that timestamp has. */
  originalTimestampType: 'x-eventbus-original-timestamp-type',
  retryTier: 'x-eventbus-retry-tier',
  /** The delivery within the tier, from 1. */
  retryAttempt: 'x-eventbus-retry-attempt',
  /** The time of the write to the tier, by the clock of the writer. */
  retryTimestamp: 'x-eventbus-retry-timestamp',
  totalAttempts: 'x-eventbus-total-attempts',
  firstFailureTimestamp: 'x-eventbus-first-failure-timestamp',
  dltReason: 'x-eventbus-dlt-reason',
  dltCause: 'x-eventbus-dlt-cause',
  dltTimestamp: 'x-eventbus-dlt-timestamp',
  lastExceptionClass: 'x-eventbus-last-exception-class',
  lastExceptionMessage: 'x-eventbus-last-exception-message',
  lastExceptionStacktrace: 'x-eventbus-last-exception-stacktrace',
  /**
   * A hash of the error's name and message. If it is the same after every call, the record is
   * poison.
   */
  fingerprint: 'x-eventbus-fingerprint',
  poison: 'x-eventbus-poison',
  replayCount: 'x-eventbus-replay-count',
  /** The operation that replayed the record, and the position of its dead letter. */
  replayId: 'x-eventbus-replay-id',
  /** A digest of key and value, which only the replayed record has. */
  replayDigest: 'x-eventbus-replay-digest',
  /** The dead letter of which an edited record was made: topic, partition and offset. */
  editedFrom: 'x-eventbus-edited-from',
  /** What a replayed record keeps of its last failure. */
  previousException: 'x-eventbus-previous-exception',
  previousAttempts: 'x-eventbus-previous-attempts',
  previousDltTimestamp: 'x-eventbus-previous-dlt-timestamp',
  /** The part of a record that could not be deserialized, and its expected format. */
  deserializationPart: 'x-eventbus-deserialization-part',
  deserializationFormat: 'x-eventbus-deserialization-format',
  deserializationExceptionClass: 'x-eventbus-deserialization-exception-class',
  deserializationReason: 'x-eventbus-deserialization-reason',
});

/**
 * Returns the names of the headers about one tier that a record has passed; 0 is the main topic.
 */
export const tierHeaders = (tier: number) => ({
  exception: `x-eventbus-tier${tier}-exception`,
  exhaustedAt: `x-eventbus-tier${tier}-exhausted-at`,
  /** Handler calls in this tier. */
  attempts: `x-eventbus-tier${tier}-attempts`,
});

/** Returns whether a header belongs to the bus, including headers of a newer version. */
export const hasEventBusPrefix = (name: string): boolean => name.startsWith('x-eventbus-');
