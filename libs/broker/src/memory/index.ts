export { memory, memoryCapabilities, type MemoryOptions } from './memory-driver.js';
export { MemoryBroker, type MemoryBrokerOptions } from './memory-broker.js';
export type { BrokerFaults } from './broker/broker-faults.js';
export type { Fault, FaultError, FaultLimit } from './broker/faults.js';
export type { FaultMatch, Operation } from './broker/request-scope.js';
export type { RefusalName } from './broker/refusal.js';
