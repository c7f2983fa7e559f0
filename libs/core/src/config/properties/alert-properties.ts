import type { Duration } from '../reading/duration.js';
import type { AlertClass } from '../../model/states/lag-alert.js';
import { IsDuration, IsOneOf, IsWholeNumber } from './property-decorators.js';

/** Configures when the bus emits `lag.alert`. A value must be above its threshold, not equal. */
export class AlertProperties {
  /**
   * Sets the class of the topic. It decides above which lag there is a warning and a critical
   * alert. These are 100 and 1,000 for `'financial'`, 500 and 5,000 for `'notification'`, 1,000 and
   * 10,000 for `'other'`.
   *
   * @defaultValue `'other'`
   */
  @IsOneOf(['financial', 'notification', 'other'])
  class?: AlertClass;

  /**
   * Sets the lag in records above which the main topic or a retry topic is a warning. 0 takes the
   * threshold of the class.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0 })
  lagWarning?: number;

  /**
   * Sets the lag in records above which the main topic or a retry topic is critical. 0 takes the
   * threshold of the class.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0 })
  lagCritical?: number;

  /**
   * Sets the age of the first unfinished record above which its topic is a warning. In a retry
   * topic the delay of the tier is subtracted. 0 switches the alert off.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  ageWarningMs?: Duration;

  /**
   * Sets the age of the first unfinished record above which its topic is critical. In a retry topic
   * the delay of the tier is subtracted. 0 switches the alert off.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  ageCriticalMs?: Duration;

  /**
   * Sets the number of open dead letters above which the dead-letter topic is a warning.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0 })
  dltWarning?: number;

  /**
   * Sets the number of open dead letters above which the dead-letter topic is critical.
   *
   * @defaultValue `10`
   */
  @IsWholeNumber({ min: 0 })
  dltCritical?: number;

  /**
   * Sets the age of the oldest open dead letter above which the dead-letter topic is a warning. 0
   * switches the alert off.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  dltAgeWarningMs?: Duration;

  /**
   * Sets the age of the oldest open dead letter above which the dead-letter topic is critical. 0
   * switches the alert off.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  dltAgeCriticalMs?: Duration;
}
