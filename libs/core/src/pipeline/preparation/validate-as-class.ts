import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { invalidPayload } from './invalid-payload.js';

export type PayloadClass = new () => object;

/** A payload class may have no rules at all. The errors must not contain the rejected payload. */
const OPTIONS = Object.freeze({
  forbidUnknownValues: false,
  validationError: { target: false, value: false },
});

/**
 * Validates asynchronously, because class-validator skips asynchronous rules in a synchronous
 * validation.
 */
export async function validateAsClass(
  type: PayloadClass,
  value: unknown,
  handler: string,
): Promise<object> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const found = Array.isArray(value) ? 'an array' : value === null ? 'null' : typeof value;
    throw invalidPayload(handler, [`expected an object, found ${found}`]);
  }
  // A value that a typed format has already turned into an instance, also of a subclass, is not
  // transformed twice.
  const instance = value instanceof type ? value : toInstance(type, value, handler);
  const issues = await validate(instance, OPTIONS);
  if (issues.length === 0) return instance;
  throw invalidPayload(
    handler,
    issues.flatMap((issue) => descriptionsOf(issue, '')),
  );
}

/**
 * Creates the instance. If a transformation of the payload class throws, the payload is to blame.
 */
function toInstance(type: PayloadClass, value: object, handler: string): object {
  try {
    return plainToInstance(type, value);
  } catch (cause) {
    throw invalidPayload(handler, [`a transformation of ${type.name} threw`], cause);
  }
}

function descriptionsOf(
  { property, constraints = {}, children = [] }: ValidationError,
  parent: string,
): readonly string[] {
  const path = parent === '' ? property : `${parent}.${property}`;
  return [
    ...Object.values(constraints).map((message) => `${path}: ${message}`),
    ...children.flatMap((child) => descriptionsOf(child, path)),
  ];
}
