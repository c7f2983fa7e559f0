export { OutboxError } from './outbox-error.js';
export { IllegalArgumentError, IllegalStateError } from './argument-errors.js';
export { RequiredFieldError } from './required-field-error.js';
export { TransactionRequiredError } from './transaction-required-error.js';
export { UnroutableEventException } from './unroutable-event-exception.js';
export { UnsupportedStoreOperationError } from './unsupported-store-operation-error.js';
