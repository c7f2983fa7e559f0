import type { Duration } from '../reading/duration.js';
import {
  IsErrorMatcher,
  IsErrorMatchers,
  type ErrorMatcher,
} from '../error-matching/error-matcher.js';
import {
  IsDuration,
  IsMultiplier,
  IsNested,
  IsNestedList,
  IsOneOf,
  IsWholeNumber,
} from './property-decorators.js';
import { IsTopicSuffix } from '../resolving/topic-name.js';

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

  /** Whether chance shortens each wait, by up to a half, so that many never knock at once. */
  @IsOneOf(['capped', 'none'])
  jitter?: 'capped' | 'none';
}

export class RetryTierProperties {
  /** From the record's arrival in the tier to its delivery. */
  @IsDuration({ min: 1 })
  delayMs?: Duration;

  /** The delay of each further delivery in this tier is this much longer; 1 keeps it fixed. */
  @IsMultiplier()
  multiplier?: number;

  /** No delay grows beyond it; one that is longer from the start stays as it is. */
  @IsDuration()
  maxDelayMs?: Duration;

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

  /** Where a record goes whose next wait would take longer than maxPollIntervalMs leaves. */
  @IsOneOf(['DLT', 'NEXT_TIER'])
  onBudgetExceeded?: 'DLT' | 'NEXT_TIER';

  /** After so many calls that all failed in the same way the record is dead-lettered; 0 never looks. */
  @IsWholeNumber({ min: 0, max: 1_000_000 })
  poisonAfter?: number;

  /** Empty means all. Where an error is in both lists, the one that names it more closely decides. */
  @IsErrorMatchers()
  retryableExceptions?: readonly ErrorMatcher[];

  @IsErrorMatchers()
  nonRetryableExceptions?: readonly ErrorMatcher[];

  @IsNestedList(() => SkipToTierProperties)
  skipToTierMapping?: readonly SkipToTierProperties[];
}
