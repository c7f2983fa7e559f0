export {
  EventBusMeterExporter,
  EventBusMeterModule,
  type EventBusMeterModuleOptions,
} from './event-bus-meter.module.js';
export { EventBusTelemetryModule } from './event-bus-telemetry.module.js';
export type { SemanticConventions } from './attribute-names.js';
export type { TracingOptions } from './open-telemetry-tracer.js';
