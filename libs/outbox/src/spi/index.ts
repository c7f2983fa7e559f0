export { AbstractOutboxStore } from './abstract-outbox-store.js';
export type { EventPurger } from './event-purger.js';
export type {
  BlockedKey,
  EventOutcome,
  LeasedOutboxStore,
  LeaseRequest,
} from './leased-outbox-store.js';
export { type OutboxLogger, consoleLogger, logSevere } from './logger.js';
export { MetricsExporter } from './metrics-exporter.js';
export type {
  EventFilter,
  EventSelection,
  ListedEvent,
  OutboxFigures,
  OutboxInspection,
} from './outbox-inspection.js';
export type { OutboxSchema, SchemaStatus } from './outbox-schema.js';
export type { DeadEventQuery, InsertOptions, OutboxStore } from './outbox-store.js';
export {
  type ConnectionProvider,
  type ProvidedConnection,
  type SqlConnection,
  withConnection,
} from './sql-connection.js';
export type { TxCallback, TxContext } from './tx-context.js';
export { WriterHook } from './writer-hook.js';
