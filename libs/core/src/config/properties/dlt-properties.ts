import { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import type { Duration } from '../reading/duration.js';
import { isErrorClass } from '../error-matching/error-matcher.js';
import {
  IsDuration,
  IsFlag,
  IsListOf,
  IsNested,
  IsOneOf,
  IsReference,
  IsWholeNumber,
} from './property-decorators.js';
import { IsTopicName, IsTopicSuffix } from '../resolving/topic-name.js';

export type HeaderProfileName = 'eventbus' | 'spring' | 'plain';

/** How much of an exception is written to retry and dead-letter topics. */
export type ExceptionDetail = 'full' | 'class';

/** What may be written of an exception. Without a stack none is written. */
export type ErrorRedaction = (error: Error) => {
  readonly message: string;
  readonly stack?: string;
};

export class DltReplayProperties {
  @IsWholeNumber()
  maxReplays?: number;

  @IsDuration()
  cooldownMs?: Duration;

  @IsWholeNumber()
  batchSize?: number;
}

export class DltProperties {
  /** The whole name; without it the topic's name with the suffix. */
  @IsTopicName()
  topic?: string;

  /** Joined to the topic with a dot, unless it begins with '.', '-' or '_'. */
  @IsTopicSuffix()
  topicSuffix?: string;

  @IsOneOf(Object.values(DltStrategy))
  strategy?: DltStrategy;

  @IsNested(() => DltReplayProperties)
  replay?: DltReplayProperties;

  @IsListOf(['eventbus', 'spring', 'plain'])
  headerProfile?: readonly HeaderProfileName[];

  /** How long a `@DltHandler` or a `@DltAlert` may take; later its answer counts no more. */
  @IsDuration({ min: 1 })
  handlerTimeoutMs?: Duration;

  /** With 'class' neither message nor stack, which may hold personal data. */
  @IsOneOf(['full', 'class'])
  exceptionDetail?: ExceptionDetail;

  /** Where it throws or gives something else, only the class is written. Not asked with exceptionDetail 'class'. */
  @IsReference(
    'a function (error) => ({ message, stack })',
    (value) => typeof value === 'function' && !isErrorClass(value),
  )
  redact?: ErrorRedaction;

  /** For one write to a retry or dead-letter topic, with all its repetitions. */
  @IsDuration({ min: 1 })
  publishTimeoutMs?: Duration;

  /** Look at start whether the topic is there, and warn when it is not. */
  @IsFlag()
  verifyTopic?: boolean;
}
