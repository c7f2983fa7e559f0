import { EventBusException } from './event-bus-exception.js';

/** The registry did not return a schema. The message is not to blame: the record waits and is read again. */
export class SchemaRegistryUnavailableException extends EventBusException {
  readonly code = 'SCHEMA_REGISTRY_UNAVAILABLE';
  readonly retriable = true;
}
