/**
 * The headers that the bus itself writes. Text all of them: numbers in decimal, times as
 * milliseconds since 1970.
 */
export const EVENTBUS_HEADERS = Object.freeze({
  /** Of this format: what a newer version adds, an older one leaves as it is. */
  version: 'x-eventbus-version',
  /** Whom a record in a retry topic, or one that is replayed, is for: others pass over it. */
  bindingName: 'x-eventbus-binding-name',
  groupId: 'x-eventbus-group-id',
  receivedTimestamp: 'x-eventbus-received-timestamp',
  consumerInstance: 'x-eventbus-consumer-instance',
  originalTopic: 'x-eventbus-original-topic',
  originalPartition: 'x-eventbus-original-partition',
  originalOffset: 'x-eventbus-original-offset',
  originalTimestamp: 'x-eventbus-original-timestamp',
  retryTier: 'x-eventbus-retry-tier',
  /** The delivery within the tier, from 1. */
  retryAttempt: 'x-eventbus-retry-attempt',
  /** When it was written to the tier, by the clock of who wrote it. */
  retryTimestamp: 'x-eventbus-retry-timestamp',
  totalAttempts: 'x-eventbus-total-attempts',
  firstFailureTimestamp: 'x-eventbus-first-failure-timestamp',
  dltReason: 'x-eventbus-dlt-reason',
  dltCause: 'x-eventbus-dlt-cause',
  dltTimestamp: 'x-eventbus-dlt-timestamp',
  lastExceptionClass: 'x-eventbus-last-exception-class',
  lastExceptionMessage: 'x-eventbus-last-exception-message',
  lastExceptionStacktrace: 'x-eventbus-last-exception-stacktrace',
  /** Of the error, by name and message: the same on every call, and the record is poison. */
  fingerprint: 'x-eventbus-fingerprint',
  poison: 'x-eventbus-poison',
  replayCount: 'x-eventbus-replay-count',
  /** Of a dead letter that could not be read: which part of it, and as what. */
  deserializationPart: 'x-eventbus-deserialization-part',
  deserializationFormat: 'x-eventbus-deserialization-format',
  deserializationExceptionClass: 'x-eventbus-deserialization-exception-class',
  deserializationReason: 'x-eventbus-deserialization-reason',
});

/** What is told of each tier that a record went through; 0 is the main topic. */
export const tierHeaders = (tier: number) => ({
  exception: `x-eventbus-tier${tier}-exception`,
  exhaustedAt: `x-eventbus-tier${tier}-exhausted-at`,
  /** Calls of the handler in this tier. */
  attempts: `x-eventbus-tier${tier}-attempts`,
});

/** Those of a newer version, too. */
export const hasEventBusPrefix = (name: string): boolean => name.startsWith('x-eventbus-');
