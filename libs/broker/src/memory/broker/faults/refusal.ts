import { markMessage } from '../../../port/error-text.js';

/** Names and numbers of Kafka's error codes. */
export const REFUSAL_CODES = {
  UNKNOWN_SERVER_ERROR: -1,
  OFFSET_OUT_OF_RANGE: 1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  NOT_LEADER_OR_FOLLOWER: 6,
  REQUEST_TIMED_OUT: 7,
  MESSAGE_TOO_LARGE: 10,
  OFFSET_METADATA_TOO_LARGE: 12,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  INVALID_TOPIC: 17,
  NOT_ENOUGH_REPLICAS: 19,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 20,
  ILLEGAL_GENERATION: 22,
  INCONSISTENT_GROUP_PROTOCOL: 23,
  UNKNOWN_MEMBER_ID: 25,
  INVALID_SESSION_TIMEOUT: 26,
  REBALANCE_IN_PROGRESS: 27,
  TOPIC_AUTHORIZATION_FAILED: 29,
  GROUP_AUTHORIZATION_FAILED: 30,
  CLUSTER_AUTHORIZATION_FAILED: 31,
  INVALID_TIMESTAMP: 32,
  TOPIC_ALREADY_EXISTS: 36,
  INVALID_PARTITIONS: 37,
  INVALID_REPLICATION_FACTOR: 38,
  INVALID_CONFIG: 40,
  OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
  INVALID_PRODUCER_EPOCH: 47,
  INVALID_TXN_STATE: 48,
  INVALID_PRODUCER_ID_MAPPING: 49,
  INVALID_TRANSACTION_TIMEOUT: 50,
  KAFKA_STORAGE_ERROR: 56,
  UNKNOWN_PRODUCER_ID: 59,
  NON_EMPTY_GROUP: 68,
  GROUP_ID_NOT_FOUND: 69,
  MEMBER_ID_REQUIRED: 79,
  FENCED_INSTANCE_ID: 82,
  GROUP_SUBSCRIBED_TO_TOPIC: 86,
  UNSTABLE_OFFSET_COMMIT: 88,
  PRODUCER_FENCED: 90,
  UNKNOWN_TOPIC_ID: 100,
  FENCED_MEMBER_EPOCH: 110,
  UNRELEASED_INSTANCE_ID: 111,
  STALE_MEMBER_EPOCH: 113,
  TRANSACTION_ABORTABLE: 120,
} as const;

export type RefusalName = keyof typeof REFUSAL_CODES;

const RETRIABLE: ReadonlySet<RefusalName> = new Set<RefusalName>([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_OR_FOLLOWER',
  'REQUEST_TIMED_OUT',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'REBALANCE_IN_PROGRESS',
  'KAFKA_STORAGE_ERROR',
  'UNSTABLE_OFFSET_COMMIT',
  'UNRELEASED_INSTANCE_ID',
  'STALE_MEMBER_EPOCH',
]);

/** A response with an error code. Clients convert it into an error of the port. */
export class Refusal extends Error {
  readonly brokerCode: number;
  readonly retriable: boolean;

  constructor(
    readonly reason: RefusalName,
    detail = 'the broker gave no further reason',
  ) {
    super(`${reason}: ${detail}`);
    this.name = 'Refusal';
    this.brokerCode = REFUSAL_CODES[reason];
    this.retriable = RETRIABLE.has(reason);
  }

  static {
    markMessage(this.prototype, 'own');
  }
}

/**
 * The answer to the first join (KIP-394), with a member id. A client that dies while it joins
 * therefore leaves no unknown member in the group.
 */
export class MemberIdRequired extends Refusal {
  constructor(readonly memberId: string) {
    super('MEMBER_ID_REQUIRED', `join again as ${memberId}`);
  }
}

export function isRefusal(error: unknown, ...reasons: readonly RefusalName[]): error is Refusal {
  return error instanceof Refusal && (reasons.length === 0 || reasons.includes(error.reason));
}
