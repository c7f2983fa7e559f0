import { EventBusException } from './event-bus-exception.js';

/** The registry did not return a schema. The message may be good, so the record is read again. */
export class SchemaRegistryUnavailableException extends EventBusException {
  readonly code = 'SCHEMA_REGISTRY_UNAVAILABLE';
  readonly retriable = true;
}
