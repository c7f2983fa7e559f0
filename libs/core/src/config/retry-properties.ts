import type { Duration } from './duration.js';
import type { ErrorMatcher } from './error-matcher.js';

export class RetryProperties {
  tier0?: Tier0Properties;
  tiers?: readonly RetryTierProperties[];
  /** `'in-line'` waits between two calls, `'seek'` gives the record back and reads it again. */
  mode?: 'in-line' | 'seek';
  /** Empty means all. */
  retryableExceptions?: readonly ErrorMatcher[];
  nonRetryableExceptions?: readonly ErrorMatcher[];
  skipToTierMapping?: readonly SkipToTierProperties[];
}

/** Calls in memory, before a record leaves the main topic. */
export class Tier0Properties {
  /** Calls altogether, the first one included. */
  maxAttempts?: number;
  initialBackoffMs?: Duration;
  multiplier?: number;
  maxBackoffMs?: Duration;
}

export class RetryTierProperties {
  delayMs?: Duration;
  /** Deliveries in this tier. */
  maxAttempts?: number;
  /** `{n}` stands for the number of the tier. */
  topicSuffix?: string;
  concurrency?: number;
}

export class SkipToTierProperties {
  match!: ErrorMatcher;
  tier!: number;
}
