import type { PayloadType, StandardResult, StandardSchema } from '../discovery/payload-type.js';
import { validateAsClass, type PayloadClass } from './class-payload.js';
import { payloadRefused } from './payload-refused.js';
import { isPromiseLike } from './promise-like.js';

/** The value as its class or schema makes it; throws, or rejects with, PayloadValidationException. `handler` is for its message. */
export function validatePayload(type: PayloadType, value: unknown, handler: string): unknown {
  return isStandardSchema(type)
    ? validateWithSchema(type, value, handler)
    : validateAsClass(type as PayloadClass, value, handler);
}

/** Some schemas are functions as well, so classes are what is left. */
function isStandardSchema(type: PayloadType): type is StandardSchema {
  return '~standard' in type;
}

function validateWithSchema(schema: StandardSchema, value: unknown, handler: string): unknown {
  const result = schema['~standard'].validate(value);
  return isPromiseLike(result) ? acceptedLater(result, handler) : accepted(result, handler);
}

async function acceptedLater(
  result: PromiseLike<StandardResult<unknown>>,
  handler: string,
): Promise<unknown> {
  return accepted(await result, handler);
}

function accepted(result: StandardResult<unknown>, handler: string): unknown {
  if (!result.issues) return result.value;
  const issues = result.issues.map(({ path = [], message }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return place === '' ? message : `${place}: ${message}`;
  });
  throw payloadRefused(handler, issues);
}
