import {
  AuthenticationError,
  AuthorizationError,
  InconsistentGroupProtocolError,
  RefusedError,
  StaticMemberFencedError,
  StaticMemberInUseError,
  UnsupportedError,
  type BrokerError,
} from '../port/errors.js';

/**
 * The kind of request that returned a code. The same code may need different reactions for
 * different kinds.
 */
export type RequestKind =
  | 'findCoordinator'
  | 'join'
  | 'sync'
  | 'heartbeat'
  /**
   * ConsumerGroupHeartbeat (KIP-848): `consumerJoin` before this consumer is a member,
   * `consumerHeartbeat` afterwards.
   */
  | 'consumerJoin'
  | 'consumerHeartbeat'
  | 'commit'
  | 'offsetFetch'
  | 'fetch'
  | 'listOffsets'
  | 'produce'
  /** InitProducerId, and all other requests to the coordinator of a transactional id. */
  | 'transaction'
  /** TxnOffsetCommit: offsets of a group, as part of a transaction. */
  | 'transactionOffsets'
  | 'admin';

export type Reaction =
  /** The request has succeeded, or there was nothing to do. */
  | 'done'
  /** Back off and send the same request again. */
  | 'retry'
  /** Find the coordinator again, then repeat the request. */
  | 'find-coordinator'
  /**
   * The leader or the partitions of the topic have changed. Refresh the metadata, then repeat the
   * request.
   */
  | 'refresh-metadata'
  /** Same as refresh-metadata, but the records may have been written already. */
  | 'refresh-metadata-unknown'
  /** Same as retry, but the records may have been written already. */
  | 'retry-unknown'
  /** Join again with the current member id. */
  | 'rejoin'
  /** The group is rebalancing. Revoke the partitions, then join again. */
  | 'revoke'
  /** Other members may already own the partitions. Join again with the current member id. */
  | 'lost'
  /** Same as lost, but the member id is no longer valid. */
  | 'lost-rejoin-as-new'
  /** Join again with the member id from the response. */
  | 'adopt-member-id'
  /** The broker does not support this group protocol. Use the classic one. */
  | 'fall-back'
  /**
   * The group is between two generations. Repeat the request after the sync, if the partitions are
   * still owned.
   */
  | 'after-sync'
  /** The partitions belong to another member. */
  | 'fenced'
  /** The offset is not in the log. The reset policy decides. */
  | 'out-of-range'
  /**
   * The batch is too large for the broker. Send the records in smaller batches; a single record
   * fails.
   */
  | 'split'
  /**
   * The batch was not written, because the producer state of the broker differs from that of this
   * client. Restart the sequence in a new epoch.
   */
  | 'restart-sequence'
  /** The batch was not written, because the producer id is no longer valid. Request a new one. */
  | 'new-producer-id'
  /** A quick retry cannot help. Report the error in the status and retry slowly. */
  | 'slow-retry'
  /** The transactional id was taken over by another producer. This producer must stop. */
  | 'producer-fenced'
  /** The request of the caller is invalid or not allowed. */
  | 'refuse';

export interface BrokerCode {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
  /**
   * True if the same request may succeed later. Determines the reaction if `reactions` has no entry
   * for the kind.
   */
  readonly retriable: boolean;
  readonly reactions: Partial<Record<RequestKind, Reaction>>;
}

type Row = readonly [
  code: number,
  name: string,
  retriable: boolean,
  meaning: string,
  reactions?: Partial<Record<RequestKind, Reaction>>,
];

const COORDINATOR_MOVED: Partial<Record<RequestKind, Reaction>> = {
  join: 'find-coordinator',
  sync: 'find-coordinator',
  heartbeat: 'find-coordinator',
  consumerJoin: 'find-coordinator',
  consumerHeartbeat: 'find-coordinator',
  commit: 'find-coordinator',
  offsetFetch: 'find-coordinator',
  transaction: 'find-coordinator',
  transactionOffsets: 'find-coordinator',
};

const LEADER_MOVED: Partial<Record<RequestKind, Reaction>> = {
  fetch: 'refresh-metadata',
  listOffsets: 'refresh-metadata',
  produce: 'refresh-metadata',
};

/**
 * The reactions to a code that a leader returns when it loses its leadership while it waits for its
 * followers. The records may have been written already.
 */
const LEADERSHIP_LOST: Partial<Record<RequestKind, Reaction>> = {
  ...LEADER_MOVED,
  produce: 'refresh-metadata-unknown',
};

const GROUP_MISCONFIGURED: Partial<Record<RequestKind, Reaction>> = {
  findCoordinator: 'slow-retry',
  join: 'slow-retry',
  sync: 'slow-retry',
  heartbeat: 'slow-retry',
  consumerJoin: 'slow-retry',
  consumerHeartbeat: 'slow-retry',
};

const rows: readonly Row[] = [
  [
    -1,
    'UNKNOWN_SERVER_ERROR',
    true,
    'the broker had an unexpected error',
    { produce: 'retry-unknown' },
  ],
  [1, 'OFFSET_OUT_OF_RANGE', false, 'the offset is not in the log', { fetch: 'out-of-range' }],
  [2, 'CORRUPT_MESSAGE', false, 'the batch did not pass its checksum', { fetch: 'retry' }],
  [
    3,
    'UNKNOWN_TOPIC_OR_PARTITION',
    true,
    'the broker does not host this topic or partition',
    {
      ...LEADERSHIP_LOST,
      commit: 'refresh-metadata',
      offsetFetch: 'retry',
      admin: 'refuse',
      transactionOffsets: 'refuse',
    },
  ],
  [4, 'INVALID_FETCH_SIZE', false, 'the fetch size is invalid'],
  [5, 'LEADER_NOT_AVAILABLE', true, 'the partition has no leader at the moment', LEADER_MOVED],
  [6, 'NOT_LEADER_OR_FOLLOWER', true, 'the partition is led by another broker', LEADERSHIP_LOST],
  [
    7,
    'REQUEST_TIMED_OUT',
    true,
    'the request timed out on the broker',
    { produce: 'retry-unknown' },
  ],
  [8, 'BROKER_NOT_AVAILABLE', true, 'the broker is not available'],
  [9, 'REPLICA_NOT_AVAILABLE', true, 'the replica is not available', LEADER_MOVED],
  [
    10,
    'MESSAGE_TOO_LARGE',
    false,
    'the batch is larger than the topic or the broker allows (max.message.bytes)',
    { produce: 'split' },
  ],
  [
    12,
    'OFFSET_METADATA_TOO_LARGE',
    false,
    'the offset metadata is longer than the broker allows (offset.metadata.max.bytes)',
    { commit: 'refuse' },
  ],
  [13, 'NETWORK_EXCEPTION', true, 'the broker lost a connection', { produce: 'retry-unknown' }],
  [
    14,
    'COORDINATOR_LOAD_IN_PROGRESS',
    true,
    'the coordinator is still loading its groups',
    { sync: 'rejoin' },
  ],
  [
    15,
    'COORDINATOR_NOT_AVAILABLE',
    true,
    'the group has no coordinator at the moment',
    COORDINATOR_MOVED,
  ],
  [16, 'NOT_COORDINATOR', true, 'the group is coordinated by another broker', COORDINATOR_MOVED],
  [17, 'INVALID_TOPIC_EXCEPTION', false, 'the topic name is not allowed'],
  [18, 'RECORD_LIST_TOO_LARGE', false, 'the batch is larger than the segment size'],
  [
    19,
    'NOT_ENOUGH_REPLICAS',
    true,
    'too few replicas are in sync; nothing was written',
    { produce: 'retry' },
  ],
  [
    20,
    'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
    true,
    'too few replicas were in sync after the write',
    { produce: 'retry-unknown' },
  ],
  [21, 'INVALID_REQUIRED_ACKS', false, 'the acknowledgement setting is not allowed'],
  [
    22,
    'ILLEGAL_GENERATION',
    false,
    'the group has another generation by now',
    { sync: 'rejoin', heartbeat: 'lost', commit: 'fenced', transactionOffsets: 'fenced' },
  ],
  [
    23,
    'INCONSISTENT_GROUP_PROTOCOL',
    false,
    'the members of the group share no assignment protocol',
    { join: 'slow-retry', sync: 'rejoin' },
  ],
  [24, 'INVALID_GROUP_ID', false, 'the group id is not allowed', GROUP_MISCONFIGURED],
  [
    25,
    'UNKNOWN_MEMBER_ID',
    false,
    'the group does not know this member',
    {
      join: 'lost-rejoin-as-new',
      sync: 'lost-rejoin-as-new',
      heartbeat: 'lost-rejoin-as-new',
      consumerJoin: 'lost-rejoin-as-new',
      consumerHeartbeat: 'lost-rejoin-as-new',
      commit: 'fenced',
      offsetFetch: 'fenced',
      transactionOffsets: 'fenced',
    },
  ],
  [
    26,
    'INVALID_SESSION_TIMEOUT',
    false,
    'the session timeout is outside what the broker allows (group.min.session.timeout.ms, group.max.session.timeout.ms)',
    GROUP_MISCONFIGURED,
  ],
  [
    27,
    'REBALANCE_IN_PROGRESS',
    true,
    'the group is rebalancing',
    {
      join: 'retry',
      sync: 'rejoin',
      heartbeat: 'revoke',
      commit: 'after-sync',
      offsetFetch: 'retry',
      transactionOffsets: 'fenced',
    },
  ],
  [28, 'INVALID_COMMIT_OFFSET_SIZE', false, 'the commit is too large', { commit: 'refuse' }],
  [
    29,
    'TOPIC_AUTHORIZATION_FAILED',
    false,
    'the credentials do not allow access to the topic',
    { consumerJoin: 'slow-retry', consumerHeartbeat: 'slow-retry' },
  ],
  [
    30,
    'GROUP_AUTHORIZATION_FAILED',
    false,
    'the credentials do not allow access to the group',
    GROUP_MISCONFIGURED,
  ],
  [
    31,
    'CLUSTER_AUTHORIZATION_FAILED',
    false,
    'the credentials do not allow this on the cluster',
    GROUP_MISCONFIGURED,
  ],
  [32, 'INVALID_TIMESTAMP', false, 'the timestamp is outside what the topic allows'],
  [33, 'UNSUPPORTED_SASL_MECHANISM', false, 'the broker does not offer this SASL mechanism'],
  [34, 'ILLEGAL_SASL_STATE', false, 'the SASL exchange is out of order'],
  [
    35,
    'UNSUPPORTED_VERSION',
    false,
    'the broker does not support this version of the request',
    { ...GROUP_MISCONFIGURED, consumerJoin: 'fall-back', consumerHeartbeat: 'fall-back' },
  ],
  [36, 'TOPIC_ALREADY_EXISTS', false, 'the topic exists already', { admin: 'done' }],
  [37, 'INVALID_PARTITIONS', false, 'the number of partitions is not allowed'],
  [
    38,
    'INVALID_REPLICATION_FACTOR',
    false,
    'the replication factor is not allowed, or larger than the number of brokers',
  ],
  [39, 'INVALID_REPLICA_ASSIGNMENT', false, 'the replica assignment is not allowed'],
  [40, 'INVALID_CONFIG', false, 'a topic configuration entry is not allowed'],
  [41, 'NOT_CONTROLLER', true, 'another broker is the controller', { admin: 'refresh-metadata' }],
  [42, 'INVALID_REQUEST', false, 'the request is malformed, or not allowed in this state'],
  [43, 'UNSUPPORTED_FOR_MESSAGE_FORMAT', false, 'the topic is stored in an older message format'],
  [44, 'POLICY_VIOLATION', false, 'a policy of the broker forbids this'],
  [
    45,
    'OUT_OF_ORDER_SEQUENCE_NUMBER',
    true,
    'the batch is out of order',
    { produce: 'restart-sequence' },
  ],
  [46, 'DUPLICATE_SEQUENCE_NUMBER', false, 'the batch was written already', { produce: 'done' }],
  [
    47,
    'INVALID_PRODUCER_EPOCH',
    true,
    'a newer producer with the same id is active',
    {
      produce: 'new-producer-id',
      transaction: 'producer-fenced',
      transactionOffsets: 'producer-fenced',
    },
  ],
  [48, 'INVALID_TXN_STATE', false, 'the transaction is in another state'],
  [49, 'INVALID_PRODUCER_ID_MAPPING', false, 'the transactional id belongs to another producer id'],
  [
    50,
    'INVALID_TRANSACTION_TIMEOUT',
    false,
    'the transaction timeout is longer than the broker allows',
  ],
  [51, 'CONCURRENT_TRANSACTIONS', true, 'the transaction before this one is still being completed'],
  [
    53,
    'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    false,
    'the credentials do not allow this transactional id',
  ],
  [54, 'SECURITY_DISABLED', false, 'security features are disabled on this cluster'],
  [
    55,
    'OPERATION_NOT_ATTEMPTED',
    true,
    'another part of the request failed, so this one was not tried',
  ],
  [56, 'KAFKA_STORAGE_ERROR', true, 'the broker had a disk error', LEADERSHIP_LOST],
  [58, 'SASL_AUTHENTICATION_FAILED', false, 'the broker did not accept the credentials'],
  [
    59,
    'UNKNOWN_PRODUCER_ID',
    true,
    'the broker has forgotten this producer',
    { produce: 'restart-sequence' },
  ],
  [60, 'REASSIGNMENT_IN_PROGRESS', true, 'a partition reassignment is under way'],
  [67, 'INVALID_PRINCIPAL_TYPE', false, 'the principal type is not supported'],
  [68, 'NON_EMPTY_GROUP', false, 'the group still has members: stop its consumers first'],
  [
    69,
    'GROUP_ID_NOT_FOUND',
    false,
    'the group does not exist',
    // Before the join, this code means that the group has members of another protocol. After the
    // join, it means that the group was deleted.
    { admin: 'done', consumerJoin: 'slow-retry', consumerHeartbeat: 'lost-rejoin-as-new' },
  ],
  [70, 'FETCH_SESSION_ID_NOT_FOUND', true, 'the fetch session is gone'],
  [71, 'INVALID_FETCH_SESSION_EPOCH', true, 'the fetch session is out of step'],
  [72, 'LISTENER_NOT_FOUND', true, 'the leader has no listener that fits ours', LEADER_MOVED],
  [
    73,
    'TOPIC_DELETION_DISABLED',
    false,
    'the broker does not allow topics to be deleted (delete.topic.enable)',
  ],
  [74, 'FENCED_LEADER_EPOCH', true, 'our metadata is older than the broker', LEADER_MOVED],
  [
    75,
    'UNKNOWN_LEADER_EPOCH',
    true,
    'our metadata is newer than the broker',
    { fetch: 'retry', listOffsets: 'retry', produce: 'retry' },
  ],
  [
    76,
    'UNSUPPORTED_COMPRESSION_TYPE',
    false,
    'the broker or the topic does not support this compression',
  ],
  [77, 'STALE_BROKER_EPOCH', true, 'the broker is restarting'],
  [
    78,
    'OFFSET_NOT_AVAILABLE',
    true,
    'the new leader does not know its high watermark yet',
    { fetch: 'retry', listOffsets: 'retry' },
  ],
  [
    79,
    'MEMBER_ID_REQUIRED',
    true,
    'the coordinator asks to join again with the id it gave',
    { join: 'adopt-member-id' },
  ],
  [80, 'PREFERRED_LEADER_NOT_AVAILABLE', true, 'the preferred leader is not available'],
  [
    81,
    'GROUP_MAX_SIZE_REACHED',
    false,
    'the group has as many members as the broker allows (group.max.size)',
    GROUP_MISCONFIGURED,
  ],
  [
    82,
    'FENCED_INSTANCE_ID',
    false,
    'another process has joined with the same static member id',
    {
      join: 'refuse',
      sync: 'refuse',
      heartbeat: 'refuse',
      commit: 'fenced',
      transactionOffsets: 'fenced',
    },
  ],
  [83, 'ELIGIBLE_LEADERS_NOT_AVAILABLE', true, 'no eligible leader is available'],
  [84, 'ELECTION_NOT_NEEDED', false, 'no election is needed'],
  [
    86,
    'GROUP_SUBSCRIBED_TO_TOPIC',
    false,
    'the group is subscribed to the topic: stop its consumers first',
  ],
  [87, 'INVALID_RECORD', false, 'the broker did not accept a record of the batch'],
  [
    88,
    'UNSTABLE_OFFSET_COMMIT',
    true,
    'a transaction with offsets of this group is still open',
    { offsetFetch: 'retry' },
  ],
  [89, 'THROTTLING_QUOTA_EXCEEDED', true, 'a quota is used up'],
  [
    90,
    'PRODUCER_FENCED',
    false,
    'a newer producer with the same transactional id is active',
    {
      produce: 'new-producer-id',
      transaction: 'producer-fenced',
      transactionOffsets: 'producer-fenced',
    },
  ],
  [
    97,
    'INCONSISTENT_TOPIC_ID',
    true,
    'the topic id does not match the topic',
    { fetch: 'refresh-metadata' },
  ],
  [99, 'INCONSISTENT_CLUSTER_ID', false, 'the request went to another cluster'],
  [
    100,
    'UNKNOWN_TOPIC_ID',
    true,
    'the broker does not know the topic id',
    { fetch: 'refresh-metadata', listOffsets: 'refresh-metadata' },
  ],
  [103, 'FETCH_SESSION_TOPIC_ID_ERROR', true, 'the fetch session mixes topic ids and names'],
  [106, 'OFFSET_MOVED_TO_TIERED_STORAGE', true, 'the offset lies in tiered storage'],
  [
    110,
    'FENCED_MEMBER_EPOCH',
    false,
    'the member epoch is not the current one',
    {
      consumerJoin: 'lost-rejoin-as-new',
      consumerHeartbeat: 'lost',
      transactionOffsets: 'fenced',
    },
  ],
  [111, 'UNRELEASED_INSTANCE_ID', true, 'the static member id is still in use'],
  [112, 'UNSUPPORTED_ASSIGNOR', false, 'the broker does not offer this assignor'],
  [
    113,
    'STALE_MEMBER_EPOCH',
    true,
    'the member epoch is outdated',
    { transactionOffsets: 'fenced' },
  ],
  [120, 'TRANSACTION_ABORTABLE', false, 'the transaction has to be aborted'],
];

/** The known broker error codes, with the reaction for each kind of request. */
export const brokerCodes: ReadonlyMap<number, BrokerCode> = new Map(
  rows.map(([code, name, retriable, meaning, reactions = {}]) => [
    code,
    { code, name, retriable, meaning, reactions },
  ]),
);

export function describeCode(code: number): BrokerCode {
  return (
    brokerCodes.get(code) ?? {
      code,
      name: `BROKER_ERROR_${code}`,
      meaning: 'this driver does not know the code',
      retriable: false,
      reactions: {},
    }
  );
}

/** Returns the reaction to a code. The reaction to 0 is always 'done'. */
export function reactionTo(place: RequestKind, code: number): Reaction {
  if (code === 0) return 'done';
  const known = describeCode(code);
  return known.reactions[place] ?? (known.retriable ? 'retry' : 'refuse');
}

/** The ACLs to grant, for callers that give no other advice. */
const REQUIRED_RIGHTS: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED: 'Grant them Read on the topic to consume it, Write to produce.',
  GROUP_AUTHORIZATION_FAILED: 'Grant them Read on the group.',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'Grant them Write on the transactional id.',
};

/** Returns the typed error for a code. `doing` names the operation that failed. */
export function errorOfCode(code: number, doing: string, advice?: string): BrokerError {
  const { name, meaning, retriable } = describeCode(code);
  const whatToDo = advice ?? REQUIRED_RIGHTS[name] ?? '';
  const message = `${doing}: ${meaning} (${name}).${whatToDo ? ` ${whatToDo}` : ''}`;
  const options = { brokerCode: code };
  switch (name) {
    case 'TOPIC_AUTHORIZATION_FAILED':
    case 'GROUP_AUTHORIZATION_FAILED':
    case 'CLUSTER_AUTHORIZATION_FAILED':
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      return new AuthorizationError(message, options);
    case 'SASL_AUTHENTICATION_FAILED':
    case 'UNSUPPORTED_SASL_MECHANISM':
      return new AuthenticationError(message, options);
    case 'INCONSISTENT_GROUP_PROTOCOL':
      return new InconsistentGroupProtocolError(message, options);
    case 'FENCED_INSTANCE_ID':
      return new StaticMemberFencedError(message, options);
    case 'UNRELEASED_INSTANCE_ID':
      return new StaticMemberInUseError(message, options);
    case 'UNSUPPORTED_VERSION':
      return new UnsupportedError(message, options);
    default:
      return new RefusedError(message, retriable, options);
  }
}
