export { type BatchEventListener, type BatchResult } from './batch-listener.js';
export {
  DefaultFaultClassifier,
  type FaultClassifier,
  type FaultKind,
} from './fault-classifier.js';
export { LeasedRelay } from './leased-relay.js';
export type { LeasedRelayOptions } from './leased-options.js';
export { RelayWriterHook } from './relay-writer-hook.js';
