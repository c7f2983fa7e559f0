import type { Runtime } from '../runtime/runtime.js';
import type { OutboxLogger } from '../spi/logger.js';
import type { MetricsExporter } from '../spi/metrics-exporter.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider } from '../spi/sql-connection.js';
import type { JsonCodec } from '../util/json-codec.js';
import type { OutboxPollerHandler } from './outbox-poller-handler.js';

export interface ClaimLocking {
  readonly ownerId: string;
  /** After this time another node may claim the events. */
  readonly timeoutMs: number;
}

export interface OutboxPollerOptions {
  readonly connectionProvider: ConnectionProvider;
  readonly outboxStore: OutboxStore;
  readonly handler: OutboxPollerHandler;
  readonly skipRecentMs: number;
  readonly batchSize: number;
  readonly intervalMs: number;
  readonly metrics: MetricsExporter;
  readonly claimLocking: ClaimLocking | undefined;
  readonly jsonCodec: JsonCodec;
  readonly logger: OutboxLogger;
  readonly runtime: Runtime;
}
