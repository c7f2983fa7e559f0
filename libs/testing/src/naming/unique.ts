import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';

/** Returns a unique name for topics and groups on a shared broker: `orders-1f8b5c0e`. */
export function unique(prefix: string, runtime: Runtime = realRuntime): string {
  return `${prefix}-${runtime.uuid().replaceAll('-', '').slice(0, 12)}`;
}
