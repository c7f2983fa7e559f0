import type { Duration } from './duration.js';
import { IsErrorMatcher, IsErrorMatchers, type ErrorMatcher } from './error-matcher.js';
import {
  IsDuration,
  IsMultiplier,
  IsNested,
  IsNestedList,
  IsOneOf,
  IsWholeNumber,
} from './property-decorators.js';
import { IsTopicSuffix } from './topic-name.js';

/** Calls in memory, before a record leaves the main topic. */
export class Tier0Properties {
  /** Calls altogether, the first one included. */
  @IsWholeNumber({ max: 1_000_000 })
  maxAttempts?: number;

  @IsDuration()
  initialBackoffMs?: Duration;

  /** Each wait is this much longer than the one before. */
  @IsMultiplier()
  multiplier?: number;

  /** No wait is longer, chance included. */
  @IsDuration()
  maxBackoffMs?: Duration;
}

export class RetryTierProperties {
  @IsDuration({ min: 1 })
  delayMs?: Duration;

  /** Deliveries in this tier. */
  @IsWholeNumber()
  maxAttempts?: number;

  /**
   * `{n}` stands for the number of the tier. Joined to the topic with a dot, unless it begins with
   * '.', '-' or '_'.
   */
  @IsTopicSuffix()
  topicSuffix?: string;

  @IsWholeNumber({ max: 1_000 })
  concurrency?: number;
}

export class SkipToTierProperties {
  @IsErrorMatcher()
  match!: ErrorMatcher;

  @IsWholeNumber()
  tier!: number;
}

export class RetryProperties {
  @IsNested(() => Tier0Properties)
  tier0?: Tier0Properties;

  /** The whole list: it replaces a list of a lower layer, and `[]` means no retry topics. */
  @IsNestedList(() => RetryTierProperties)
  tiers?: readonly RetryTierProperties[];

  /**
   * `'in-line'` waits between two calls, `'seek'` gives the record back and reads it again. A handler
   * of whole slices is always called by `'seek'`.
   */
  @IsOneOf(['in-line', 'seek'])
  mode?: 'in-line' | 'seek';

  /** Empty means all. Where an error is in both lists, the one that names it more closely decides. */
  @IsErrorMatchers()
  retryableExceptions?: readonly ErrorMatcher[];

  @IsErrorMatchers()
  nonRetryableExceptions?: readonly ErrorMatcher[];

  @IsNestedList(() => SkipToTierProperties)
  skipToTierMapping?: readonly SkipToTierProperties[];
}
