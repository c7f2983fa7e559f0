export { memory, memoryCapabilities, type MemoryOptions } from './memory-driver.js';
export { MemoryBroker, type MemoryBrokerOptions } from './memory-broker.js';
export type { BrokerFaults } from './broker/faults/broker-faults.js';
export type { Fault, FaultError, FaultLimit } from './broker/faults/fault-registry.js';
export type { FaultMatch, Operation } from './broker/faults/request-scope.js';
export type { RefusalName } from './broker/faults/refusal.js';
