export { EventBusScheduleModule } from './event-bus-schedule.module.js';
