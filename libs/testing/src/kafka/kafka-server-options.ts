import type { SecurityOptions } from './security-options.js';

export const DEFAULT_KAFKA_VERSION = '4.1.1';

export interface KafkaServerOptions {
  /** Default 1. Three form a cluster with replication 3 and min in-sync replicas 2. */
  readonly brokers?: 1 | 3;
  /** Where the brokers stand, one name each (`broker.rack`). Default: nowhere. */
  readonly racks?: readonly string[];
  /** Broker settings that win over the test defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Keeps Kafka's own `group.*` settings (3 s before a new group's first rebalance, sessions of 6 s at least). */
  readonly stockGroupSettings?: boolean;
  /** Puts a TcpProxy before each broker, reached through `proxiedBrokers`. */
  readonly proxied?: boolean;
  /** Listeners with TLS and SASL beside the plain one, and an authorizer. */
  readonly security?: SecurityOptions;
  /** `kill`, `restart`, `freeze` and `thaw` will be called: only a broker that we run ourselves will do. */
  readonly controllable?: boolean;
  /** Kafka's version. Default 4.1.1. An external broker is taken as it is. */
  readonly version?: string;
  /** How long the brokers may take to be ready. Default one minute. */
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

/** What of a recipe only a Kafka in local Java can give, in words; empty when any Kafka will do. */
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
