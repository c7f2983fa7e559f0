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
  const message = `The payload is not what ${handler} takes: ${issues.join('; ')}. Let the producer send what is asked for, or change what the handler's payload asks for.`;
  return new PayloadValidationException(message, issues, { cause });
}
