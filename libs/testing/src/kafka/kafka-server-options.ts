import type { SecurityOptions } from './security-options.js';

export const DEFAULT_KAFKA_VERSION = '4.1.1';

export interface KafkaServerOptions {
  /**
   * The number of brokers. Default 1. Three form a cluster with replication factor 3 and
   * min.insync.replicas 2.
   */
  readonly brokers?: 1 | 3;
  /** The rack of each broker (`broker.rack`). Default: none. */
  readonly racks?: readonly string[];
  /** Broker settings that override the test defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Keeps Kafka's own `group.*` settings (3 s before the first rebalance of a new group, session
   * timeouts of at least 6 s).
   */
  readonly stockGroupSettings?: boolean;
  /** Adds a TcpProxy for each broker, reached through `proxiedBrokers`. */
  readonly proxied?: boolean;
  /** Adds listeners with TLS and SASL, and an authorizer. */
  readonly security?: SecurityOptions;
  /**
   * Requires a broker that supports `kill`, `restart`, `freeze` and `thaw`, which only a broker in
   * local Java does.
   */
  readonly controllable?: boolean;
  /** Kafka's version. Default 4.1.1. An external broker is used with any version. */
  readonly version?: string;
  /** The maximum time until the brokers are ready. Default one minute. */
  readonly startTimeoutMs?: number;
}

export interface KafkaRecipe extends Required<KafkaServerOptions> {}

export function kafkaRecipe(options: KafkaServerOptions): KafkaRecipe {
  return {
    brokers: options.brokers ?? 1,
    racks: options.racks ?? [],
    settings: options.settings ?? {},
    stockGroupSettings: options.stockGroupSettings ?? false,
    proxied: options.proxied ?? false,
    security: options.security ?? { listeners: {} },
    controllable: options.controllable ?? false,
    version: options.version ?? DEFAULT_KAFKA_VERSION,
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
  };
}

/**
 * Returns the requested features that only a Kafka in local Java supports; empty if any Kafka will
 * do.
 */
export function javaOnlyNeeds(recipe: KafkaRecipe): string[] {
  const needs: string[] = [];
  if (recipe.brokers > 1) needs.push(`${recipe.brokers} brokers`);
  if (recipe.racks.length > 0) needs.push('racks');
  if (Object.keys(recipe.settings).length > 0) needs.push('broker settings');
  if (recipe.stockGroupSettings) needs.push('stock group settings');
  if (recipe.proxied) needs.push('proxies');
  if (isSecured(recipe.security)) needs.push('security');
  if (recipe.controllable) needs.push('kill and freeze');
  return needs;
}

function isSecured({ listeners, authorizer = false }: SecurityOptions): boolean {
  return authorizer || Object.keys(listeners).length > 0;
}
