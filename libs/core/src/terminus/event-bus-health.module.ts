import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { EventBusHealthIndicator } from './event-bus-health-indicator.js';

/** Brings `EventBusHealthIndicator`. It needs an `EventBusModule.forRoot` that is global, which it is by default. */
@Module({
  imports: [TerminusModule],
  providers: [EventBusHealthIndicator],
  exports: [EventBusHealthIndicator],
})
export class EventBusHealthModule {}
