import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { EventBusHealthIndicator } from './event-bus-health-indicator.js';
import { healthControllers, type HealthEndpointOptions } from './health-endpoints.js';
import { KafkaHealthIndicator } from './kafka-health-indicator.js';

/**
 * Provides `EventBusHealthIndicator` and `KafkaHealthIndicator`. Needs a global
 * `EventBusModule.forRoot`, which is the default.
 */
@Module({
  imports: [TerminusModule],
  providers: [EventBusHealthIndicator, KafkaHealthIndicator],
  exports: [EventBusHealthIndicator, KafkaHealthIndicator],
})
export class EventBusHealthModule {
  /** Adds the endpoints `/health/live`, `/health/ready` and `/actuator/kafka`. */
  static withEndpoints(options: HealthEndpointOptions = {}): DynamicModule {
    return { module: EventBusHealthModule, controllers: healthControllers(options) };
  }
}
