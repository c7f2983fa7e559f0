import type {
  ErrorRedaction,
  ExceptionDetail,
} from '../../model/extension-points/error-redaction.js';
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
import { IsTopicName, IsTopicSuffix } from '../resolving/legal-topic-name.js';

export type HeaderProfileName = 'eventbus' | 'spring' | 'plain';

/** Configures the replay of dead letters. */
export class DltReplayProperties {
  /**
   * Limits how often a record is replayed. A record that fails again keeps its count. A dead letter
   * that reached the limit stays where it is.
   *
   * @defaultValue `3`
   */
  @IsWholeNumber()
  maxReplays?: number;

  /**
   * Sets the age from which `DltReplayService.replayDue` replays a dead letter.
   *
   * @defaultValue `3600000`
   */
  @IsDuration()
  cooldownMs?: Duration;

  /**
   * Limits how many dead letters one call of `DltReplayService.replayDue` replays.
   *
   * @defaultValue `100`
   */
  @IsWholeNumber()
  batchSize?: number;

  /**
   * Sets the time between two replays of the schedule that `dlt.strategy: 'SCHEDULED_REPLAY'` asks
   * for. Each replay reads the headers of the dead letters.
   *
   * @defaultValue `300000`
   */
  @IsDuration({ min: 1 })
  intervalMs?: Duration;
}

/** Configures the dead-letter topic and its headers. */
export class DltProperties {
  /**
   * Sets the full name of the dead-letter topic.
   *
   * @defaultValue the name of the topic with the suffix
   */
  @IsTopicName()
  topic?: string;

  /**
   * Sets the suffix of the dead-letter topic. It is joined to the topic with a dot, unless it
   * begins with `.`, `-` or `_`.
   *
   * @defaultValue `'DLT'`
   */
  @IsTopicSuffix()
  topicSuffix?: string;

  /**
   * Decides what happens besides writing the record. `'ALERT_AND_STORE'` calls `DltAlert` methods,
   * `'CUSTOM'` first calls a `DltHandler`, which decides. `'SCHEDULED_REPLAY'`
   * replays letters after `replay.cooldownMs`, if the application imports `EventBusScheduleModule`.
   *
   * @defaultValue `'STORE_ONLY'`
   */
  @IsOneOf(Object.values(DltStrategy))
  strategy?: DltStrategy;

  /** Configures the replay of dead letters. */
  @IsNested(() => DltReplayProperties)
  replay?: DltReplayProperties;

  /**
   * Selects which headers describe the failure: those of the bus, of Spring, or plain ones. Control
   * headers of the bus are always written.
   *
   * @defaultValue `['eventbus']`
   */
  @IsListOf(['eventbus', 'spring', 'plain'])
  headerProfile?: readonly HeaderProfileName[];

  /**
   * Limits how long a `DltHandler` or `DltAlert` may take. A result after this time is ignored. The
   * option is refused without a `strategy` that calls one.
   *
   * @defaultValue `10000`
   */
  @IsDuration({ min: 1 })
  handlerTimeoutMs?: Duration;

  /**
   * Selects how much of an exception is written to headers, to the failure log and to events. `'class'` leaves out message and stack,
   * which may hold personal data.
   *
   * @defaultValue `'full'`
   */
  @IsOneOf(['full', 'class'])
  exceptionDetail?: ExceptionDetail;

  /**
   * Replaces message and stack of an exception: `(error) => ({ message, stack })`. If it throws,
   * only the class is written. It has no effect with `exceptionDetail: 'class'`.
   *
   * @defaultValue none
   */
  @IsReference(
    'a function (error) => ({ message, stack })',
    (value) => typeof value === 'function' && !isErrorClass(value),
  )
  redact?: ErrorRedaction;

  /**
   * Limits one write to a retry or dead-letter topic, including all attempts of the producer. It
   * must be less than `maxPollIntervalMs`.
   *
   * @defaultValue `30000`
   */
  @IsDuration({ min: 1 })
  publishTimeoutMs?: Duration;

  /**
   * Checks at start that the dead-letter topic exists, and logs a warning if it does not. It is for
   * `provisioning: 'none'`, because the other values check it anyway.
   *
   * @defaultValue `false`
   */
  @IsFlag()
  verifyTopic?: boolean;
}
