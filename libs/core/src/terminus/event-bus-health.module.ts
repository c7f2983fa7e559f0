import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { EventBusHealthIndicator } from './event-bus-health-indicator.js';

/**
 * Provides `EventBusHealthIndicator`. Needs a global `EventBusModule.forRoot`, which is the
 * default.
 */
@Module({
  imports: [TerminusModule],
  providers: [EventBusHealthIndicator],
  exports: [EventBusHealthIndicator],
})
export class EventBusHealthModule {}
