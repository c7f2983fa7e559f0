export { OutboxAdminModule, outboxAdminExtension } from './admin/outbox-admin-extension.js';
export { outboxRoutes } from './admin/outbox-routes.js';
export { BusFaultClassifier } from './bus-fault-classifier.js';
export { BusListener, type ToBindingOptions } from './bus-listener.js';
export { toBinding } from './to-binding.js';
export { inboxMessageOf } from './inbox-message-of.js';
