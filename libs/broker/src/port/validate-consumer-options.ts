import type {
  AssignorName,
  ConsumerOptions,
  FetchOptions,
  GroupProtocol,
  Isolation,
  OffsetReset,
} from './consumer.js';
import type { BrokerCapabilities } from './driver.js';
import { InvalidOptionError } from './errors.js';
import {
  flag,
  integer,
  legalName,
  oneOf,
  rejectUnknownKeys,
  formatValue,
  text,
  topicName,
} from './option-values.js';

/** The validated options of a consumer, with every default filled in. */
export type ResolvedConsumerOptions = Required<
  Omit<ConsumerOptions, 'clientId' | 'fetch' | 'groupInstanceId'>
> & {
  /** The client id of the session; null for that of the driver. */
  readonly clientId: string | null;
  /** The static member id; null for a dynamic member. */
  readonly groupInstanceId: string | null;
  readonly fetch: Required<FetchOptions>;
};

/**
 * The default assignors in order of preference. The two eager ones support members that offer no
 * other assignor, such as older versions. The whole group is eager while such a member belongs to
 * it.
 */
export const DEFAULT_ASSIGNORS: readonly AssignorName[] = ['cooperative-sticky', 'sticky', 'range'];
const OFFSET_RESETS: readonly OffsetReset[] = ['earliest', 'latest', 'none'];
const GROUP_PROTOCOLS: readonly GroupProtocol[] = ['classic', 'consumer'];
const ISOLATIONS: readonly Isolation[] = ['read_committed', 'read_uncommitted'];

const CONSUMER_KEYS = [
  'groupId',
  'topics',
  'clientId',
  'assignors',
  'offsetReset',
  'isolation',
  'groupInstanceId',
  'groupProtocol',
  'sessionTimeoutMs',
  'heartbeatIntervalMs',
  'rebalanceTimeoutMs',
  'fetch',
] as const satisfies readonly (keyof ConsumerOptions)[];

const FETCH_KEYS = [
  'maxWaitMs',
  'minBytes',
  'maxBytes',
  'maxPartitionBytes',
  'checkCrc',
  'maxInflatedBytes',
] as const satisfies readonly (keyof FetchOptions)[];

const DEFAULT_SESSION_TIMEOUT_MS = 45_000;
const DEFAULT_HEARTBEAT_INTERVAL_MS = 10_000;
export function validateConsumerOptions(
  options: ConsumerOptions,
  capabilities: Pick<BrokerCapabilities, 'assignors'>,
): ResolvedConsumerOptions {
  rejectUnknownKeys('consumer', options, CONSUMER_KEYS);
  const sessionTimeoutMs = integer(
    'consumer.sessionTimeoutMs',
    options.sessionTimeoutMs ?? DEFAULT_SESSION_TIMEOUT_MS,
    1,
  );
  return {
    groupId: text('consumer.groupId', options.groupId),
    topics: topicNames(options.topics),
    clientId: options.clientId === undefined ? null : text('consumer.clientId', options.clientId),
    assignors: assignorNames(options.assignors, capabilities.assignors),
    offsetReset: oneOf('consumer.offsetReset', options.offsetReset ?? 'earliest', OFFSET_RESETS),
    isolation: oneOf('consumer.isolation', options.isolation ?? 'read_committed', ISOLATIONS),
    groupInstanceId: instanceId(options.groupInstanceId),
    groupProtocol: oneOf(
      'consumer.groupProtocol',
      options.groupProtocol ?? 'classic',
      GROUP_PROTOCOLS,
    ),
    sessionTimeoutMs,
    heartbeatIntervalMs: heartbeatInterval(options.heartbeatIntervalMs, sessionTimeoutMs),
    rebalanceTimeoutMs: integer(
      'consumer.rebalanceTimeoutMs',
      options.rebalanceTimeoutMs ?? 30_000,
      1,
    ),
    fetch: fetchOptions(options.fetch ?? {}),
  };
}

function fetchOptions(options: FetchOptions): Required<FetchOptions> {
  rejectUnknownKeys('consumer.fetch', options, FETCH_KEYS);
  const minBytes = integer('consumer.fetch.minBytes', options.minBytes ?? 1, 0);
  const maxBytes = integer('consumer.fetch.maxBytes', options.maxBytes ?? 10 * 1024 * 1024, 1);
  if (minBytes > maxBytes)
    throw new InvalidOptionError(
      `consumer.fetch.minBytes (${minBytes}) is larger than consumer.fetch.maxBytes (${maxBytes}): every fetch would wait in vain. Lower the first, or raise the second.`,
    );
  return {
    maxWaitMs: integer('consumer.fetch.maxWaitMs', options.maxWaitMs ?? 5_000, 0),
    minBytes,
    maxBytes,
    maxPartitionBytes: integer(
      'consumer.fetch.maxPartitionBytes',
      options.maxPartitionBytes ?? 1024 * 1024,
      1,
    ),
    checkCrc: flag('consumer.fetch.checkCrc', options.checkCrc ?? true),
    maxInflatedBytes: integer(
      'consumer.fetch.maxInflatedBytes',
      options.maxInflatedBytes ?? 64 * 1024 * 1024,
      1,
    ),
  };
}

function heartbeatInterval(given: number | undefined, sessionTimeoutMs: number): number {
  const third = Math.max(1, Math.floor(sessionTimeoutMs / 3));
  const interval = integer(
    'consumer.heartbeatIntervalMs',
    given ?? Math.min(DEFAULT_HEARTBEAT_INTERVAL_MS, third),
    1,
  );
  if (interval * 3 > sessionTimeoutMs && given !== undefined)
    throw new InvalidOptionError(
      `consumer.heartbeatIntervalMs (${interval}) must be at most a third of consumer.sessionTimeoutMs (${sessionTimeoutMs}), so that two lost heartbeats do not end the membership: use ${third} or less.`,
    );
  return interval;
}

function topicNames(topics: unknown): readonly string[] {
  if (!Array.isArray(topics) || topics.length === 0)
    throw new InvalidOptionError(
      `consumer.topics must name at least one topic; got ${formatValue(topics)}.`,
    );
  const names = topics.map((topic) => topicName('consumer.topics', topic));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InvalidOptionError(`consumer.topics names "${twice}" twice. Name it once.`);
  return names;
}

function assignorNames(
  given: readonly AssignorName[] | undefined,
  supported: readonly AssignorName[],
): readonly AssignorName[] {
  if (given === undefined) return DEFAULT_ASSIGNORS.filter((name) => supported.includes(name));
  if (!Array.isArray(given) || given.length === 0)
    throw new InvalidOptionError(
      `consumer.assignors must name at least one of ${supported.join(', ')}; got ${formatValue(given)}.`,
    );
  const names = given.map((name) => oneOf('consumer.assignors', name, supported));
  return [...new Set(names)];
}

/** Checks a static member id by Kafka's rule, which is the same as for topic names. */
function instanceId(given: string | undefined): string | null {
  return given === undefined
    ? null
    : legalName('consumer.groupInstanceId', given, 'group instance id');
}
