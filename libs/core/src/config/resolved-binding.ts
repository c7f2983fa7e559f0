import type { AssignorName } from '@nest-event-bus/broker';
import type { CircuitBreakerProperties } from './circuit-breaker-properties.js';
import type { DltProperties, DltReplayProperties } from './dlt-properties.js';
import type { Duration } from './duration.js';
import type {
  RetryProperties,
  RetryTierProperties,
  SkipToTierProperties,
  Tier0Properties,
} from './retry-properties.js';
import type { RebalanceProperties, TopicBindingProperties } from './topic-binding-properties.js';

/** Every key has its value, every duration is a number of milliseconds. */
export type Resolved<T> = {
  readonly [K in keyof T]-?: Duration extends NonNullable<T[K]> ? number : NonNullable<T[K]>;
};

export type ResolvedTier0 = Resolved<Tier0Properties>;

export type ResolvedTier = Resolved<RetryTierProperties> & {
  /** From 1. */
  readonly number: number;
  readonly topic: string;
  /** The retry session is a group of its own. */
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

/** `topic` is the whole name, whether it was given or made with the suffix. */
export interface ResolvedDlt extends Omit<Resolved<DltProperties>, 'replay'> {
  readonly replay: Resolved<DltReplayProperties>;
}

/** A binding with nothing left open. Frozen all the way down; opaque values are the user's own. */
export interface ResolvedBinding extends Omit<
  Resolved<TopicBindingProperties>,
  'retry' | 'circuitBreaker' | 'dlt' | 'rebalance' | 'assignmentStrategy'
> {
  readonly name: string;
  readonly assignmentStrategy: readonly AssignorName[];
  readonly retry: ResolvedRetry;
  readonly circuitBreaker: Resolved<CircuitBreakerProperties>;
  readonly dlt: ResolvedDlt;
  readonly rebalance: Resolved<RebalanceProperties>;
}
