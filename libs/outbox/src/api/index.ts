export { LeasedOutboxBuilder, type LeasedOutboxOptions } from './leased-outbox-builder.js';
export { Outbox, type OutboxParts } from './outbox.js';
export {
  MultiNodeOutboxBuilder,
  OrderedOutboxBuilder,
  SingleNodeOutboxBuilder,
  WriterOnlyOutboxBuilder,
} from './outbox-builders.js';
export { OutboxWriter, type OutboxWriterOptions } from './outbox-writer.js';
