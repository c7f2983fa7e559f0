import { IsOneOf, IsWholeNumber } from './property-decorators.js';

/** Configures what is logged about failed records. */
export class FailureLogProperties {
  /**
   * Sets the level of failures after which the record is tried again. `'off'` logs only records
   * that are given up or wait for an operator, which are always errors.
   *
   * @defaultValue `'warn'`
   */
  @IsOneOf(['warn', 'info', 'debug', 'off'])
  level?: 'warn' | 'info' | 'debug' | 'off';

  /**
   * Limits the lines per minute about the same error with the same next step. The other failures of
   * that minute are counted in one line.
   *
   * @defaultValue `5`
   */
  @IsWholeNumber({ max: 1_000 })
  perGroupPerMinute?: number;
}
