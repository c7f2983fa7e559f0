import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { fieldPath } from './field-path.js';
import { invalidPayload } from './invalid-payload.js';
import { partOf, quotesPayload } from './quotes-payload.js';

export type PayloadClass = new () => object;

/**
 * Options of class-validator. A payload class without any rules is accepted, and errors do not
 * contain the rejected payload.
 */
const OPTIONS = Object.freeze({
  forbidUnknownValues: false,
  validationError: { target: false, value: false },
});

/**
 * Validates asynchronously, because class-validator ignores asynchronous rules in a synchronous
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
  // A typed format may have created an instance already, also of a subclass. It is not transformed
  // again.
  const instance = value instanceof type ? value : toInstance(type, value, handler);
  const issues = await validate(instance, OPTIONS);
  if (issues.length === 0) return instance;
  throw invalidPayload(
    handler,
    issues.flatMap((issue) => descriptionsOf(issue, '', instance)),
  );
}

/**
 * Creates the instance. If a transformation of the payload class throws, the payload is refused.
 */
function toInstance(type: PayloadClass, value: object, handler: string): object {
  try {
    return plainToInstance(type, value);
  } catch (cause) {
    throw invalidPayload(handler, [`a transformation of ${type.name} threw`], cause);
  }
}

/** A custom message of a rule may quote the value (`$value`): then the rule is named instead. */
function descriptionsOf(
  { property, constraints = {}, children = [] }: ValidationError,
  parent: string,
  owner: unknown,
): readonly string[] {
  const field = fieldPath([property]);
  const path = parent === '' ? field : `${parent}.${field}`;
  const value = partOf(owner, property);
  return [
    ...Object.entries(constraints).map(
      ([rule, message]) => `${path}: ${quotesPayload(message, value) ? rule : message}`,
    ),
    ...children.flatMap((child) => descriptionsOf(child, path, value)),
  ];
}
