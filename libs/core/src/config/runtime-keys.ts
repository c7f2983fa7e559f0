import { isPlainObject, type PlainObject } from './reading/plain-object.js';

/** The source of values that an operator has set while the application runs. */
export const RUNTIME_SOURCE = 'the admin API';

const CHANGEABLE = [
  'concurrency',
  'maxPollRecords',
  'idleBetweenPollsMs',
  'pollTimeoutMs',
  'stuckHandlerMs',
  'expectedProcessingMs',
  'processing.maxConcurrency',
  'retry.poisonAfter',
  'retry.tier0.maxAttempts',
  'retry.tier0.initialBackoffMs',
  'retry.tier0.multiplier',
  'retry.tier0.maxBackoffMs',
  'retry.tier0.maxElapsedMs',
  'retry.tier0.jitter',
  'circuitBreaker.enabled',
  'circuitBreaker.failureRateThreshold',
  'circuitBreaker.slowCallRateThreshold',
  'circuitBreaker.slowCallDurationMs',
  'circuitBreaker.waitDurationInOpenStateMs',
  'circuitBreaker.slidingWindowSize',
  'circuitBreaker.minimumNumberOfCalls',
  'circuitBreaker.permittedNumberOfCallsInHalfOpenState',
  'circuitBreaker.automaticPauseOnOpen',
  'failureLog.level',
  'failureLog.perGroupPerMinute',
  'alerts.lagWarning',
  'alerts.lagCritical',
  'alerts.ageWarningMs',
  'alerts.ageCriticalMs',
  'alerts.dltWarning',
  'alerts.dltCritical',
  'dlt.replay.maxReplays',
  'dlt.replay.cooldownMs',
  'dlt.replay.batchSize',
] as const;

/** They decide which records are read, by whom, or what other processes expect. */
const NEEDS_RESTART = [
  'preset',
  'topic',
  'groupId',
  'cluster',
  'listenerType',
  'ackMode',
  'ack',
  'orderingMode',
  'offsetReset',
  'groupProtocol',
  'autoStartup',
  'maxPollIntervalMs',
  'sessionTimeoutMs',
  'heartbeatIntervalMs',
  'processing.by',
  'retry.mode',
  'dlt.topic',
  'dlt.strategy',
  'provisioning',
] as const;

/** The options of a binding that are shown, and whether they can be changed at run time. */
export const RUNTIME_KEYS: ReadonlyMap<string, 'changeable' | 'needs-restart'> = new Map([
  ...CHANGEABLE.map((key) => [key, 'changeable'] as const),
  ...NEEDS_RESTART.map((key) => [key, 'needs-restart'] as const),
]);

export type RuntimeValue = string | number | boolean;

/** Values by the paths of their options: `retry.tier0.maxAttempts`. */
export type RuntimeChanges = Readonly<Record<string, RuntimeValue>>;

/** Makes the sections of options of which the paths speak. */
export function nestedOptions(changes: RuntimeChanges): PlainObject {
  const options: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(changes)) {
    const parts = path.split('.');
    let section = options;
    for (const part of parts.slice(0, -1))
      section = (section[part] ??= {}) as Record<string, unknown>;
    section[parts.at(-1)!] = value;
  }
  return options;
}

export function valueAt(values: PlainObject, path: string): unknown {
  let found: unknown = values;
  for (const part of path.split('.')) found = isPlainObject(found) ? found[part] : undefined;
  return found;
}
