import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import { IsErrorMatcher, type ErrorMatcher } from '../error-matching/error-matcher.js';
import { IsOneOf, IsReference, IsWholeNumber } from './property-decorators.js';

/** Configures where the records of one error go after the last call of the handler. */
export class ExceptionRouteProperties {
  /**
   * Names the error.
   *
   * @defaultValue none; required
   */
  @IsErrorMatcher()
  match!: ErrorMatcher;

  /**
   * Sets where the record goes. `'PAUSE_CONTAINER'` pauses the whole binding until it is resumed.
   *
   * @defaultValue none; required
   */
  @IsOneOf(Object.values(ExceptionRouting))
  routing!: ExceptionRouting;

  /**
   * Sets the tier for SKIP_TO_TIER, from 1. It is refused with any other routing.
   *
   * @defaultValue none
   */
  @IsWholeNumber()
  tier?: number;
}

/**
 * Refuses a provider class, because it is no classifier: Nest only instantiates a class that is
 * provided as EXCEPTION_CLASSIFIER.
 */
export function IsExceptionClassifier(): PropertyDecorator {
  return IsReference('an object with a method classify(error, currentTier)', isExceptionClassifier);
}

export function isExceptionClassifier(value: unknown): value is ExceptionClassifier {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<ExceptionClassifier>).classify === 'function'
  );
}
