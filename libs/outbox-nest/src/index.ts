export type { OutboxCauseGroup } from './admin/cause-groups.js';
export type { OutboxCommand, OutboxCommandName, OutboxCommandNote } from './admin/command-log.js';
export {
  OutboxAdmin,
  type OutboxAdminParts,
  type OutboxEventPage,
  type OutboxRedriveOptions,
} from './admin/outbox-admin.js';
export {
  OutboxEventNotFoundError,
  OutboxOperationNotFoundError,
  OutboxPlanChangedError,
} from './admin/outbox-admin-errors.js';
export type { DeadEventSelection, OutboxPlan } from './admin/outbox-plan.js';
export type { OutboxOperation, OutboxOperationState } from './admin/replay-run.js';
export {
  OutboxHealth,
  type OutboxHealthOptions,
  type OutboxHealthReport,
  type OutboxState,
  type OutboxStatus,
} from './health/outbox-health.js';
export { Inbox, type InboxOptions, type InboxResult } from './inbox/inbox.js';
export { OutboxListener, type OutboxListenerOptions } from './outbox-listener.js';
export { OutboxModule } from './outbox.module.js';
export type {
  OutboxMode,
  OutboxModuleAsyncOptions,
  OutboxModuleExtras,
  OutboxModuleOptions,
  OutboxPurgeOptions,
  OutboxRoute,
  OutboxWakeOptions,
  RouteListenerFactory,
} from './outbox-options.js';
export { OutboxRuntime } from './outbox-runtime.js';
export { type PromClient, PrometheusMetricsExporter } from './prometheus-metrics-exporter.js';
export type { TransactionOf } from './transactions/transaction-of.js';
export { OutboxTransactions } from './transactions/outbox-transactions.js';
