export {
  OutboxPurgeScheduler,
  OutboxPurgeSchedulerBuilder,
  type OutboxPurgeSchedulerOptions,
} from './outbox-purge-scheduler.js';
