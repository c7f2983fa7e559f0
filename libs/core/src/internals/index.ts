/**
 * The parts of the event bus, for tests and tools. An application needs none of them. A minor version may
 * change them.
 */
export { resolveBinding, type BindingLayer } from '../config/resolving/resolve-binding.js';
export {
  resolveOptions,
  type HandlerLayer,
  type OptionLayers,
} from '../config/resolving/resolve-options.js';
export type {
  BindingContext,
  ResolvedCluster,
  ResolvedOptions,
} from '../config/resolving/resolved-options.js';

export { PrepareRecordStep } from '../pipeline/preparation/prepare-record-step.js';
export { PrepareSliceStep } from '../pipeline/batches/prepare-slice-step.js';
export { decodeValue } from '../pipeline/preparation/decode-value.js';
export { IdempotencyInterceptor } from '../pipeline/idempotency/idempotency-interceptor.js';
export { ResilienceDecorator } from '../pipeline/resilience/resilience-decorator.js';
export { RetryConfigFactory } from '../pipeline/resilience/retry-config-factory.js';
export { CircuitBreakerConfigFactory } from '../pipeline/resilience/circuit-breaker-config-factory.js';

export { PollIntervalSafetyValve } from '../consuming/lanes/poll-interval-safety-valve.js';
export { OffsetTracker } from '../consuming/commits/offset-tracker.js';
export { Committer } from '../consuming/commits/committer.js';
export { EventBusRebalanceListener } from '../consuming/session/rebalance-listener.js';

export { CircuitBreakerLifecycleBridge } from '../containers/lifecycle/circuit-breaker-lifecycle-bridge.js';

export { RetryTopicFilter } from '../failures/retry-topics/retry-topic-filter.js';
export { DltPublisher } from '../failures/publishing/dlt-publisher.js';
export { DltHeaderEnricher } from '../failures/headers/dlt-header-enricher.js';
export { RetryHeaderEnricher } from '../failures/headers/retry-header-enricher.js';
