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
import { IsTopicSuffix } from '../resolving/legal-topic-name.js';

/**
 * Configures the calls of the handler in this process, before a record goes to a retry topic or
 * becomes a dead letter.
 */
export class Tier0Properties {
  /**
   * Sets how often the handler is called in one delivery, including the first call.
   *
   * @defaultValue `3`
   */
  @IsWholeNumber({ max: 1_000_000 })
  maxAttempts?: number;

  /**
   * Sets the wait before the second call of the handler.
   *
   * @defaultValue `100`
   */
  @IsDuration()
  initialBackoffMs?: Duration;

  /**
   * Multiplies each wait to get the next one.
   *
   * @defaultValue `2`
   */
  @IsMultiplier()
  multiplier?: number;

  /**
   * Limits each wait.
   *
   * @defaultValue `2000`
   */
  @IsDuration()
  maxBackoffMs?: Duration;

  /**
   * Limits the time from the first failed call to the next one, with waits and handler calls. A
   * record whose next call would begin later gets no further call in this topic. 0 means no limit.
   *
   * @defaultValue `0`; `90000` with preset `brokers`
   */
  @IsDuration()
  maxElapsedMs?: Duration;

  /**
   * Shortens each wait by a random part of at most half of it, so that many clients do not call at
   * the same moment. `'none'` switches that off.
   *
   * @defaultValue `'capped'`
   */
  @IsOneOf(['capped', 'none'])
  jitter?: 'capped' | 'none';
}

/** Configures one retry topic. */
export class RetryTierProperties {
  /**
   * Sets the time from the write to the retry topic to the delivery.
   *
   * @defaultValue none; required
   */
  @IsDuration({ min: 1 })
  delayMs?: Duration;

  /**
   * Multiplies the delay for each further delivery in this tier. 1 keeps it fixed.
   *
   * @defaultValue `1`
   */
  @IsMultiplier()
  multiplier?: number;

  /**
   * Limits the growth of the delay. If `delayMs` is longer than this limit, the delay stays at
   * `delayMs`.
   *
   * @defaultValue `3600000`
   */
  @IsDuration()
  maxDelayMs?: Duration;

  /**
   * Sets the number of deliveries in this tier. Each delivery makes the calls of `retry.tier0`.
   *
   * @defaultValue `3`
   */
  @IsWholeNumber()
  maxAttempts?: number;

  /**
   * Sets the suffix of the retry topic; `{n}` stands for the number of the tier. It is joined to
   * the topic with a dot, unless it begins with `.`, `-` or `_`.
   *
   * @defaultValue `'retry-{n}'`
   */
  @IsTopicSuffix()
  topicSuffix?: string;

  /**
   * Sets how many members of the group read this tier in this process.
   *
   * @defaultValue `1`
   */
  @IsWholeNumber({ max: 1_000 })
  concurrency?: number;
}

/** Sends the records of one error to a certain tier. */
export class SkipToTierProperties {
  /**
   * Names the error.
   *
   * @defaultValue none; required
   */
  @IsErrorMatcher()
  match!: ErrorMatcher;

  /**
   * Sets the number of the tier, from 1.
   *
   * @defaultValue none; required
   */
  @IsWholeNumber()
  tier!: number;
}

/**
 * Configures how often a handler is called again in this process, and the retry topics that follow.
 */
export class RetryProperties {
  /**
   * Configures the calls of the handler in this process, before a record goes to a retry topic or
   * becomes a dead letter.
   */
  @IsNested(() => Tier0Properties)
  tier0?: Tier0Properties;

  /**
   * Lists the retry topics. The list replaces that of a lower source, and `[]` means no retry
   * topics. At most 100 are allowed.
   *
   * @defaultValue three tiers of 10 s, 60 s and 300 s; `[]` with STRICT ordering
   */
  @IsNestedList(() => RetryTierProperties)
  tiers?: readonly RetryTierProperties[];

  /**
   * Selects how the bus waits between two calls in one process. `'in-line'` waits before the next
   * call, `'seek'` returns the record to its partition and reads it again. Batch handlers always
   * use `'seek'`.
   *
   * @defaultValue `'in-line'`
   */
  @IsOneOf(['in-line', 'seek'])
  mode?: 'in-line' | 'seek';

  /**
   * Decides where a record goes if its next wait does not fit into `maxPollIntervalMs`. It is for
   * mode `'in-line'` and a binding with retry topics.
   *
   * @defaultValue `'DLT'`
   */
  @IsOneOf(['DLT', 'NEXT_TIER'])
  onBudgetExceeded?: 'DLT' | 'NEXT_TIER';

  /**
   * Makes a record a dead letter after this many calls that failed with the same error. 0 switches
   * it off.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 1_000_000 })
  poisonAfter?: number;

  /**
   * Lists the errors after which a record is tried again. An empty list means all errors except
   * those that the message itself causes. For an error in both lists, the more specific entry
   * decides.
   *
   * @defaultValue `[]`
   */
  @IsErrorMatchers()
  retryableExceptions?: readonly ErrorMatcher[];

  /**
   * Lists errors after which a record is not tried again. Such a record becomes a dead letter, and
   * the circuit breaker does not count its call.
   *
   * @defaultValue `[]`
   */
  @IsErrorMatchers()
  nonRetryableExceptions?: readonly ErrorMatcher[];

  /**
   * Lists errors whose records go directly to a certain tier.
   *
   * @defaultValue `[]`
   */
  @IsNestedList(() => SkipToTierProperties)
  skipToTierMapping?: readonly SkipToTierProperties[];
}
