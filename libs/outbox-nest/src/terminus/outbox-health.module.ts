import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { OutboxHealthIndicator } from './outbox-health-indicator.js';

/** Provides `OutboxHealthIndicator`. Needs a global `OutboxModule`, which is the default. */
@Module({
  imports: [TerminusModule],
  providers: [OutboxHealthIndicator],
  exports: [OutboxHealthIndicator],
})
export class OutboxHealthModule {}
