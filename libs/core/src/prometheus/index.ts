export {
  EventBusMetricsExporter,
  EventBusMetricsModule,
  type EventBusMetricsModuleOptions,
  type MetricsRegistry,
} from './event-bus-metrics.module.js';
