export { ManualRuntime } from './manual-runtime.js';
export { MemoryConnection, MemoryDatabase, MemoryTransaction } from './memory-database.js';
export { MemoryTxContext } from './memory-tx-context.js';
export { MemoryOutboxStore } from './memory-outbox-store.js';
export { MemoryEventPurger } from './memory-purgers.js';
export type { MemoryRow } from './memory-row.js';
