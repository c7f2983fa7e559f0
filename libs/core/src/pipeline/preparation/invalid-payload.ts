import { PayloadValidationException } from '../../errors/handler-errors.js';

/**
 * Creates the error for a payload that its handler does not accept. Issues name fields and rules,
 * not values, because they go to headers and logs.
 */
export function invalidPayload(
  handler: string,
  issues: readonly string[],
  cause?: unknown,
): PayloadValidationException {
  const message = `The payload is not valid for ${handler}: ${issues.join('; ')}. Correct its producer, or the payload class or schema of the handler.`;
  return new PayloadValidationException(message, issues, { cause });
}
