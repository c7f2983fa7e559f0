import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { invalidPayload } from './invalid-payload.js';

export type PayloadClass = new () => object;

/** A class may say nothing about its properties. The rejected payload stays out of the errors. */
const OPTIONS = Object.freeze({
  forbidUnknownValues: false,
  validationError: { target: false, value: false },
});

/** Always asynchronous: class-validator leaves asynchronous rules out when it is asked synchronously. */
export async function validateAsClass(
  type: PayloadClass,
  value: unknown,
  handler: string,
): Promise<object> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const found = Array.isArray(value) ? 'an array' : value === null ? 'null' : typeof value;
    throw invalidPayload(handler, [`expected an object, found ${found}`]);
  }
  // What a typed format has made already stays what it is, a subclass included: no rule is applied twice.
  const instance = value instanceof type ? value : toInstance(type, value, handler);
  const issues = await validate(instance, OPTIONS);
  if (issues.length === 0) return instance;
  throw invalidPayload(
    handler,
    issues.flatMap((issue) => descriptionsOf(issue, '')),
  );
}

/** A transformation of the payload's own class that fails, fails because of the payload. */
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
