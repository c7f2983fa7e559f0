import { Module } from '@nestjs/common';
import { DltReplayScheduler } from './dlt-replay-scheduler.js';

/**
 * Replays dead letters by a schedule, for bindings with `dlt.strategy: 'SCHEDULED_REPLAY'`. Needs a
 * global `EventBusModule.forRoot`, which is the default, and `ScheduleModule.forRoot()` of
 * `@nestjs/schedule` in the imports of the application.
 */
@Module({ providers: [DltReplayScheduler] })
export class EventBusScheduleModule {}
