/**
 * The parts of the event bus, for tests and tools. An application needs none of them. A minor version may
 * change them.
 */
export type { ErrorTypes } from '../config/error-matching/error-types.js';
export { FeatureProperties } from '../config/properties/feature-properties.js';
export type { PlainObject } from '../config/reading/plain-object.js';
export type { Layer } from '../config/reading/merge-layers.js';
export {
  resolveBinding,
  type BindingLayer,
  type BindingSetting,
} from '../config/resolving/resolve-binding.js';
export {
  resolveOptions,
  type HandlerLayer,
  type OptionLayers,
} from '../config/resolving/resolve-options.js';
export type {
  BindingContext,
  BindingSources,
  ResolvedCluster,
  ResolvedFleet,
  ResolvedOptions,
} from '../config/resolving/resolved-options.js';

export type { EnhancerScope } from '../discovery/calling/enhancer-scope.js';
export type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';

export type { HandlerProblems } from '../pipeline/context/handler-problems.js';
export type { ReceivedContext } from '../pipeline/context/received-context.js';
export type { ReceivedRecord } from '../pipeline/context/received-record.js';
export type { ErrorJudge, ErrorJudgement } from '../pipeline/resilience/error-judge.js';
export type { PipelineStep, PreparationStep, Prepared } from '../pipeline/pipeline-step.js';
export type { DecodedKey, RecordCall } from '../pipeline/record-call.js';
export { PrepareRecordStep } from '../pipeline/preparation/prepare-record-step.js';
export { PrepareSliceStep } from '../pipeline/batches/prepare-slice-step.js';
export { decodeValue } from '../pipeline/preparation/decode-value.js';
export { IdempotencyInterceptor } from '../pipeline/idempotency/idempotency-interceptor.js';
export { ResilienceDecorator } from '../pipeline/resilience/resilience-decorator.js';
export {
  RetryConfigFactory,
  type RetryConfig,
  type RetrySource,
} from '../pipeline/resilience/retry-config-factory.js';
export {
  CircuitBreakerConfigFactory,
  type CircuitBreakerConfig,
} from '../pipeline/resilience/circuit-breaker-config-factory.js';

export { PollIntervalSafetyValve } from '../consuming/lanes/poll-interval-safety-valve.js';
export { OffsetTracker, type OffsetRange } from '../consuming/commits/offset-tracker.js';
export { Committer, type CommitSource } from '../consuming/commits/committer.js';
export { EventBusRebalanceListener } from '../consuming/session/rebalance-listener.js';

export { CircuitBreakerLifecycleBridge } from '../containers/lifecycle/circuit-breaker-lifecycle-bridge.js';

export { RetryTopicFilter } from '../failures/retry-topics/retry-topic-filter.js';
export { DltPublisher } from '../failures/publishing/dlt-publisher.js';
export { DltHeaderEnricher } from '../failures/headers/dlt-header-enricher.js';
export { RetryHeaderEnricher } from '../failures/headers/retry-header-enricher.js';
export type { DeadLetterHop, RetryHop } from '../failures/headers/header-profile.js';
export type { HeaderVariant } from '../failures/headers/header-variants.js';
export type { Thrown } from '../failures/faults/thrown.js';
export type { FaultRule } from '../failures/faults/fault.js';

export type { Assignment, CommittingMember } from '../model/records/assignment.js';
export type { Delivery } from '../model/outcomes/delivery.js';
export type {
  DeadLetterDestination,
  DeadLetterReason,
  RetryDestination,
  WriteDestination,
} from '../model/outcomes/destination.js';
export type {
  DeliveryHistory,
  PendingWrite,
  RecordWait,
} from '../model/outcomes/delivery-history.js';
export type {
  BatchRedelivery,
  Failure,
  FailedOutcome,
  UnfinishedFailure,
} from '../model/outcomes/failed-outcome.js';
export type {
  ErrorDescription,
  FailureReport,
  RememberedFailure,
} from '../model/outcomes/failure-report.js';

export type { OngoingProblems, Problem, ProblemReason } from '../problems/ongoing-problems.js';
export type { HandedBack, SliceOutcome } from '../model/outcomes/outcome.js';
