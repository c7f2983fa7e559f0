import { PayloadValidationException } from '../../errors/handler-errors.js';

/** Issues name fields and rules, not values: they go into headers and logs. */
export function invalidPayload(
  handler: string,
  issues: readonly string[],
  cause?: unknown,
): PayloadValidationException {
  const message = `The payload is not what ${handler} takes: ${issues.join('; ')}. Let the producer send what is asked for, or change what the handler's payload asks for.`;
  return new PayloadValidationException(message, issues, { cause });
}
