import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { DriverLogger } from '../port/driver.js';
import { InvalidOptionError } from '../port/errors.js';
import { rejectUnknownKeys } from '../port/option-values.js';
import type { Runtime } from '../runtime/index.js';
import type { PrefetchBudget } from './consumer/fetching/prefetch-budget.js';
import { validateSaslOptions, type SaslOptions } from './sasl-mechanisms.js';

export interface KafkajsOptions {
  /** Addresses of some brokers as `host:port`. The other brokers are discovered. */
  readonly brokers: readonly string[] | string;
  /** The client id in requests and broker logs. Default `nest-event-bus`. */
  readonly clientId?: string;
  /**
   * The rack of this process, as in the brokers' `broker.rack`. Records are then read from a
   * replica in the same rack, if the brokers have a rack-aware `replica.selector.class` (KIP-392).
   * Default: reads from the leader.
   */
  readonly rackId?: string;
  readonly ssl?: boolean | TlsOptions;
  readonly sasl?: SaslOptions;
  /** The timeout for opening a connection. Default 5 s. */
  readonly connectionTimeoutMs?: number;
  /** The timeout of one request. Default 30 s. */
  readonly requestTimeoutMs?: number;
  /**
   * The interval at which sessions look for new partitions and deleted topics, with one request for
   * all sessions. Default 10 s.
   */
  readonly metadataMaxAgeMs?: number;
  /**
   * Limits the bytes that are fetched ahead. Default: one budget of 64 MiB for the whole process.
   */
  readonly prefetchBudget?: PrefetchBudget;
  readonly runtime?: Runtime;
  readonly logger?: DriverLogger;
}

const KEYS = [
  'brokers',
  'clientId',
  'rackId',
  'ssl',
  'sasl',
  'connectionTimeoutMs',
  'requestTimeoutMs',
  'metadataMaxAgeMs',
  'prefetchBudget',
  'runtime',
  'logger',
] as const satisfies readonly (keyof KafkajsOptions)[];

export interface ClusterSettings {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly rackId: string | undefined;
  readonly ssl?: unknown;
  readonly sasl?: SaslOptions;
  readonly connectionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly metadataMaxAgeMs: number;
}

export function validateKafkajsOptions(options: KafkajsOptions): ClusterSettings {
  rejectUnknownKeys('kafkajs driver', options, KEYS);
  return {
    brokers: addresses(options.brokers),
    clientId: options.clientId ?? 'nest-event-bus',
    rackId: rack(options.rackId),
    connectionTimeoutMs: milliseconds('connectionTimeoutMs', options.connectionTimeoutMs ?? 5_000),
    requestTimeoutMs: milliseconds('requestTimeoutMs', options.requestTimeoutMs ?? 30_000),
    metadataMaxAgeMs: milliseconds('metadataMaxAgeMs', options.metadataMaxAgeMs ?? 10_000),
    ...(options.ssl ? { ssl: options.ssl === true ? {} : { ...options.ssl } } : {}),
    ...(options.sasl ? { sasl: validateSaslOptions(options.sasl) } : {}),
  };
}

function rack(rackId: string | undefined): string | undefined {
  if (rackId === undefined || (typeof rackId === 'string' && rackId !== '')) return rackId;
  throw new InvalidOptionError(
    'rackId must be a text that is not empty. Leave it out, or name the rack.',
  );
}

function addresses(brokers: KafkajsOptions['brokers']): readonly string[] {
  const given: readonly unknown[] =
    typeof brokers === 'string' ? brokers.split(',') : (brokers ?? []);
  const list = given.map((broker) => String(broker).trim());
  if (list.length === 0 || list[0] === '')
    throw new InvalidOptionError('brokers is empty: give at least one address as "host:port".');
  for (const broker of list)
    if (!/^(\[[^\]]+\]|[^:\s]+):\d{1,5}$/.test(broker))
      throw new InvalidOptionError(`"${broker}" is not a broker address: write it as "host:port".`);
  return list;
}

function milliseconds(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidOptionError(
    `${name} must be a whole number of milliseconds above 0, not ${value}.`,
  );
}
