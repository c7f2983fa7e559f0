import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import { IsErrorMatcher, type ErrorMatcher } from '../error-matching/error-matcher.js';
import { IsOneOf, IsReference, IsWholeNumber } from './property-decorators.js';

/** Where a record goes that failed with such an error. */
export class ExceptionRouteProperties {
  @IsErrorMatcher()
  match!: ErrorMatcher;

  @IsOneOf(Object.values(ExceptionRouting))
  routing!: ExceptionRouting;

  /** Of SKIP_TO_TIER, and of that alone. */
  @IsWholeNumber()
  tier?: number;
}

/** A provider's class is no classifier: Nest makes the one that is provided as EXCEPTION_CLASSIFIER, nobody this one. */
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
