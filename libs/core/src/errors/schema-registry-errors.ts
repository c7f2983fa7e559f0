import { EventBusException } from './event-bus-exception.js';

/** The registry did not say what a schema looks like. No message is to blame: the record waits and is read again. */
export class SchemaRegistryUnavailableException extends EventBusException {
  readonly code = 'SCHEMA_REGISTRY_UNAVAILABLE';
  readonly retriable = true;
}
