import { realRuntime } from '@nest-event-bus/broker/runtime';
import { Module, type DynamicModule } from '@nestjs/common';
import { EVENT_BUS_TRACER } from '../discovery/decorators/tokens.js';
import { NestLogger } from '../nest/nest-logger.js';
import { OpenTelemetryTracer, type TracingOptions } from './open-telemetry-tracer.js';
import { requireTracingOptions } from './tracing-options.js';

/** Traces the records of the bus with the SDK of OpenTelemetry that the application has started. */
@Module({})
export class EventBusTelemetryModule {
  static forRoot(options: TracingOptions = {}): DynamicModule {
    requireTracingOptions(options);
    const tracer = {
      provide: EVENT_BUS_TRACER,
      useFactory: () => new OpenTelemetryTracer(options, new NestLogger(), realRuntime),
    };
    return { module: EventBusTelemetryModule, providers: [tracer] };
  }
}
