export {
  OutboxDriverMissingError,
  OutboxIsolationError,
  OutboxSchemaMissingError,
  OutboxSchemaVersionError,
  OutboxStoreException,
} from './store-errors.js';
export { SCHEMA_VERSION, translateError } from './translate-error.js';
