export { DeadEventManager, type DeadEventFilter } from './dead-event-manager.js';
