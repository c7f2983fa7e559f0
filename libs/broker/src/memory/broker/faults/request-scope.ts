import type { TopicPartition } from '../../../port/record.js';

/** A request type. */
export type Operation =
  | 'metadata'
  | 'produce'
  | 'fetch'
  | 'list-offsets'
  | 'join'
  | 'sync'
  | 'heartbeat'
  | 'leave'
  | 'commit'
  | 'fetch-offsets'
  | 'init-producer'
  | 'commit-offsets-in-transaction'
  | 'end-transaction'
  | 'create-topics'
  | 'create-partitions'
  | 'delete-topics'
  | 'describe-config'
  | 'alter-config'
  | 'delete-records'
  | 'list-groups'
  | 'describe-group'
  | 'delete-group'
  | 'delete-offsets';

/** The subject of a request. */
export interface RequestScope {
  readonly operation: Operation;
  readonly clientId: string;
  readonly groupId?: string;
  readonly memberId?: string;
  readonly partitions?: readonly TopicPartition[];
}

/** A filter for requests: all given properties must match. */
export interface FaultMatch {
  readonly operation?: Operation | readonly Operation[];
  /** The client id of a driver: see `memory({ clientId })`. */
  readonly clientId?: string;
  readonly groupId?: string;
  readonly memberId?: string;
  readonly topic?: string;
  readonly partition?: number;
}

export const GROUP_OPERATIONS: readonly Operation[] = [
  'join',
  'sync',
  'heartbeat',
  'leave',
  'commit',
  'fetch-offsets',
  'describe-group',
  'delete-group',
  'delete-offsets',
  'commit-offsets-in-transaction',
];

export function isMatched(match: FaultMatch, scope: RequestScope): boolean {
  return (
    isOneOf(match.operation, scope.operation) &&
    isEqualOrAny(match.clientId, scope.clientId) &&
    isEqualOrAny(match.groupId, scope.groupId) &&
    isEqualOrAny(match.memberId, scope.memberId) &&
    concernsPartition(match, scope)
  );
}

function isOneOf(wanted: FaultMatch['operation'], operation: Operation): boolean {
  return wanted === undefined || wanted === operation || wanted.includes(operation);
}

function isEqualOrAny(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === actual;
}

function concernsPartition(
  { topic, partition }: FaultMatch,
  { partitions }: RequestScope,
): boolean {
  if (topic === undefined && partition === undefined) return true;
  return (partitions ?? []).some(
    (each) =>
      (topic === undefined || each.topic === topic) &&
      (partition === undefined || each.partition === partition),
  );
}
