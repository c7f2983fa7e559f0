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
import type { Compression, ProducerOptions } from './producer.js';

/** The options a session works with: checked, and every default filled in. */
export type ResolvedConsumerOptions = Required<
  Omit<ConsumerOptions, 'fetch' | 'groupInstanceId'>
> & {
  /** null for a dynamic member. */
  readonly groupInstanceId: string | null;
  readonly fetch: Required<FetchOptions>;
};
export type ResolvedProducerOptions = Required<Omit<ProducerOptions, 'transactionalId'>> &
  Pick<ProducerOptions, 'transactionalId'>;

/**
 * In the order of preference. The eager two are there for members that have nothing else, such as
 * those of an older version: while one of them is in the group, all are eager.
 */
export const DEFAULT_ASSIGNORS: readonly AssignorName[] = ['cooperative-sticky', 'sticky', 'range'];
const OFFSET_RESETS: readonly OffsetReset[] = ['earliest', 'latest', 'none'];
const GROUP_PROTOCOLS: readonly GroupProtocol[] = ['classic', 'consumer'];
const ISOLATIONS: readonly Isolation[] = ['read_committed', 'read_uncommitted'];

const CONSUMER_KEYS = [
  'groupId',
  'topics',
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

const PRODUCER_KEYS = [
  'batchBytes',
  'lingerMs',
  'bufferBytes',
  'maxRequestBytes',
  'deliveryTimeoutMs',
  'requestTimeoutMs',
  'compression',
  'idempotent',
  'transactionalId',
  'transactionTimeoutMs',
] as const satisfies readonly (keyof ProducerOptions)[];

const DEFAULT_SESSION_TIMEOUT_MS = 45_000;
const DEFAULT_HEARTBEAT_INTERVAL_MS = 10_000;
const DEFAULT_DELIVERY_TIMEOUT_MS = 120_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const DEFAULT_TRANSACTION_TIMEOUT_MS = 60_000;
const DEFAULT_BATCH_BYTES = 16 * 1024;
const DEFAULT_BUFFER_BYTES = 32 * 1024 * 1024;

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

/** The one compression that not every Node.js can write. */
const ZSTD_ADVICE =
  ' zstd is written by Node.js 22.15, 23.8 and later (it is read by all): run a newer one, or compress with lz4 or gzip.';

export function validateProducerOptions(
  options: ProducerOptions,
  capabilities: Pick<BrokerCapabilities, 'compressions'>,
): ResolvedProducerOptions {
  rejectUnknownKeys('producer', options, PRODUCER_KEYS);
  const batchBytes = integer('producer.batchBytes', options.batchBytes ?? DEFAULT_BATCH_BYTES, 1);
  const bufferBytes = integer(
    'producer.bufferBytes',
    options.bufferBytes ?? Math.max(DEFAULT_BUFFER_BYTES, batchBytes),
    1,
  );
  if (bufferBytes < batchBytes)
    throw new InvalidOptionError(
      `producer.bufferBytes (${bufferBytes}) is smaller than producer.batchBytes (${batchBytes}): no batch could ever fill. Raise bufferBytes or lower batchBytes.`,
    );
  return {
    batchBytes,
    bufferBytes,
    lingerMs: integer('producer.lingerMs', options.lingerMs ?? 5, 0),
    maxRequestBytes: integer('producer.maxRequestBytes', options.maxRequestBytes ?? 1024 * 1024, 1),
    ...sendTimeouts(options),
    compression: oneOf<Compression>(
      'producer.compression',
      options.compression ?? 'none',
      capabilities.compressions,
      options.compression === 'zstd' ? ZSTD_ADVICE : '',
    ),
    idempotent: flag('producer.idempotent', options.idempotent ?? true),
    ...transactionOptions(options),
  };
}

/** Throws for the first key that is not among `known`, and suggests the one that was probably meant. */
export function rejectUnknownKeys(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new InvalidOptionError(`${where} options must be an object; got ${show(options)}.`);
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  throw new InvalidOptionError(
    nearest
      ? `${where} options have no "${unknown}". Did you mean "${nearest}"?`
      : `${where} options have no "${unknown}". Known are: ${known.join(', ')}.`,
  );
}

/** The name that needs the fewest edits, if those are few enough to call it a slip of the pen. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const candidate of known) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (!best || edits < best.edits) best = { name: candidate, edits };
  }
  return best && best.edits <= Math.max(2, Math.floor(name.length / 3)) ? best.name : undefined;
}

function fetchOptions(options: FetchOptions): Required<FetchOptions> {
  rejectUnknownKeys('consumer.fetch', options, FETCH_KEYS);
  const minBytes = integer('consumer.fetch.minBytes', options.minBytes ?? 1, 0);
  const maxBytes = integer('consumer.fetch.maxBytes', options.maxBytes ?? 10 * 1024 * 1024, 1);
  if (minBytes > maxBytes)
    throw new InvalidOptionError(
      `consumer.fetch.minBytes (${minBytes}) is larger than consumer.fetch.maxBytes (${maxBytes}): every fetch would wait in vain.`,
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

function sendTimeouts(
  options: ProducerOptions,
): Pick<ResolvedProducerOptions, 'deliveryTimeoutMs' | 'requestTimeoutMs'> {
  const deliveryTimeoutMs = integer(
    'producer.deliveryTimeoutMs',
    options.deliveryTimeoutMs ??
      Math.max(DEFAULT_DELIVERY_TIMEOUT_MS, options.requestTimeoutMs ?? 0),
    1,
  );
  const requestTimeoutMs = integer(
    'producer.requestTimeoutMs',
    options.requestTimeoutMs ?? Math.min(DEFAULT_REQUEST_TIMEOUT_MS, deliveryTimeoutMs),
    1,
  );
  if (requestTimeoutMs > deliveryTimeoutMs)
    throw new InvalidOptionError(
      `producer.requestTimeoutMs (${requestTimeoutMs}) is longer than producer.deliveryTimeoutMs (${deliveryTimeoutMs}), which contains it. Lower the first or raise the second.`,
    );
  return { deliveryTimeoutMs, requestTimeoutMs };
}

function transactionOptions(
  options: ProducerOptions,
): Pick<ResolvedProducerOptions, 'transactionalId' | 'transactionTimeoutMs'> {
  const { transactionalId, transactionTimeoutMs, idempotent } = options;
  if (transactionTimeoutMs !== undefined && transactionalId === undefined)
    throw new InvalidOptionError(
      'producer.transactionTimeoutMs means nothing without producer.transactionalId: give that too, or leave it out.',
    );
  if (transactionalId !== undefined && idempotent === false)
    throw new InvalidOptionError(
      'producer.idempotent is false, but with a producer.transactionalId every send is idempotent: leave one of them out.',
    );
  return {
    ...(transactionalId === undefined
      ? {}
      : { transactionalId: text('producer.transactionalId', transactionalId) }),
    transactionTimeoutMs: integer(
      'producer.transactionTimeoutMs',
      transactionTimeoutMs ?? DEFAULT_TRANSACTION_TIMEOUT_MS,
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
      `consumer.topics must name at least one topic; got ${show(topics)}.`,
    );
  const names = topics.map((topic) => topicName('consumer.topics', topic));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InvalidOptionError(`consumer.topics names "${twice}" twice. Name it once.`);
  return names;
}

/** Kafka's rule for topic names. */
export function topicName(where: string, topic: unknown): string {
  return legalName(where, topic, 'topic name');
}

function legalName(where: string, given: unknown, kind: string): string {
  const name = text(where, given);
  if (name === '.' || name === '..' || name.length > 249 || !/^[A-Za-z0-9._-]+$/.test(name))
    throw new InvalidOptionError(
      `${where}: ${show(name)} is no legal ${kind}. Use up to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-", but not "." or ".." alone.`,
    );
  return name;
}

function assignorNames(
  given: readonly AssignorName[] | undefined,
  supported: readonly AssignorName[],
): readonly AssignorName[] {
  if (given === undefined) return DEFAULT_ASSIGNORS.filter((name) => supported.includes(name));
  if (!Array.isArray(given) || given.length === 0)
    throw new InvalidOptionError(
      `consumer.assignors must name at least one of ${supported.join(', ')}; got ${show(given)}.`,
    );
  const names = given.map((name) => oneOf('consumer.assignors', name, supported));
  return [...new Set(names)];
}

/** Kafka's rule for it is the one for topic names. */
function instanceId(given: string | undefined): string | null {
  return given === undefined
    ? null
    : legalName('consumer.groupInstanceId', given, 'group instance id');
}

function oneOf<T extends string>(
  where: string,
  value: unknown,
  allowed: readonly T[],
  advice = '',
): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const nearest = typeof value === 'string' ? nearestName(value, allowed) : undefined;
  throw new InvalidOptionError(
    `${where} must be one of ${allowed.map(show).join(', ')}; got ${show(value)}.${nearest ? ` Did you mean "${nearest}"?` : ''}${advice}`,
  );
}

function integer(where: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw new InvalidOptionError(
    `${where} must be a whole number of at least ${least}; got ${show(value)}.`,
  );
}

function flag(where: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new InvalidOptionError(`${where} must be true or false; got ${show(value)}.`);
}

function text(where: string, value: unknown): string {
  if (typeof value === 'string' && value.length > 0) return value;
  throw new InvalidOptionError(`${where} must be a text that is not empty; got ${show(value)}.`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return value !== null && typeof value === 'object' ? 'an object' : String(value);
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const substitution =
        (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(
        Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution),
      );
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
