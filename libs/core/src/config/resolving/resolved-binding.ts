import type { AssignorName } from '@nest-event-bus/broker';
import type { ErrorRedaction } from '../../model/extension-points/error-redaction.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import type { AlertProperties } from '../properties/alert-properties.js';
import type { CircuitBreakerProperties } from '../properties/circuit-breaker-properties.js';
import type { DltProperties, DltReplayProperties } from '../properties/dlt-properties.js';
import type { FailureLogProperties } from '../properties/failure-log-properties.js';
import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import type { Duration } from '../reading/duration.js';
import type {
  IdempotencyProperties,
  ResolvedIdempotencyKey,
} from '../properties/idempotency-properties.js';
import type { ExceptionRouteProperties } from '../properties/exception-route-properties.js';
import type {
  RetryProperties,
  RetryTierProperties,
  SkipToTierProperties,
  Tier0Properties,
} from '../properties/retry-properties.js';
import type { FormatProperties } from '../properties/format-properties.js';
import type { ResolvedFormats } from './resolve-formats.js';
import type {
  CommitProperties,
  ProcessingProperties,
  TransactionProperties,
} from '../properties/processing-properties.js';
import type {
  RebalanceProperties,
  TopicBindingProperties,
} from '../properties/topic-binding-properties.js';
import type { TopicShapeProperties, TopicsProperties } from '../properties/topics-properties.js';

/** Makes all keys required, and replaces durations by milliseconds. */
export type Resolved<T> = {
  readonly [K in keyof T]-?: Duration extends NonNullable<T[K]> ? number : NonNullable<T[K]>;
};

export type ResolvedTier0 = Resolved<Tier0Properties>;

export type ResolvedTier = Resolved<RetryTierProperties> & {
  /** Number of the tier, from 1. */
  readonly number: number;
  readonly topic: string;
  /** Consumer group of the tier. Each tier has its own group. */
  readonly groupId: string;
};

export interface ResolvedRetry extends Omit<
  Resolved<RetryProperties>,
  'tier0' | 'tiers' | 'skipToTierMapping'
> {
  readonly tier0: ResolvedTier0;
  readonly tiers: readonly ResolvedTier[];
  readonly skipToTierMapping: readonly Resolved<SkipToTierProperties>[];
}

/**
 * Resolved options of the dead-letter topic. `topic` is the full name, whether it was set or
 * derived from the suffix.
 */
export interface ResolvedDlt extends Omit<Resolved<DltProperties>, 'replay' | 'redact'> {
  readonly redact?: ErrorRedaction;
  readonly replay: Resolved<DltReplayProperties>;
}

/** A route for an error. `tier` is set only with SKIP_TO_TIER. */
export type ResolvedExceptionRoute = Readonly<ExceptionRouteProperties>;

export interface ResolvedIdempotency extends Omit<Resolved<IdempotencyProperties>, 'key'> {
  readonly key: ResolvedIdempotencyKey;
}

export type ResolvedTopicShape = Resolved<TopicShapeProperties>;

export interface ResolvedTopics extends Omit<Resolved<TopicsProperties>, 'retry' | 'dlt'> {
  readonly retry: ResolvedTopicShape;
  readonly dlt: ResolvedTopicShape;
}

/**
 * A binding with all options resolved. Deeply frozen, except for values that the user passed by
 * reference.
 */
export interface ResolvedBinding
  extends
    Omit<
      Resolved<TopicBindingProperties>,
      | 'retry'
      | 'circuitBreaker'
      | 'dlt'
      | 'failureLog'
      | 'alerts'
      | 'rebalance'
      | 'processing'
      | 'commit'
      | 'idempotency'
      | 'transactions'
      | 'assignmentStrategy'
      | 'exceptionRouting'
      | 'classifier'
      | 'naming'
      | keyof FormatProperties
    >,
    ResolvedFormats {
  readonly name: string;
  readonly assignmentStrategy: readonly AssignorName[];
  readonly exceptionRouting: readonly ResolvedExceptionRoute[];
  readonly classifier?: ExceptionClassifier;
  readonly naming?: TopicNamingStrategy;
  readonly retry: ResolvedRetry;
  readonly circuitBreaker: Resolved<CircuitBreakerProperties>;
  readonly dlt: ResolvedDlt;
  readonly failureLog: Resolved<FailureLogProperties>;
  readonly alerts: Resolved<AlertProperties>;
  readonly rebalance: Resolved<RebalanceProperties>;
  readonly processing: Resolved<ProcessingProperties>;
  readonly commit: Resolved<CommitProperties>;
  readonly topics: ResolvedTopics;
  readonly idempotency: ResolvedIdempotency;
  readonly transactions: Resolved<TransactionProperties>;
}
