export type { DispatchContext, OutboxEventListener } from './event-listener.js';
export { DefaultListenerRegistry, type ListenerRegistry } from './listener-registry.js';
