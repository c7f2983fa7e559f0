import type {
  PayloadType,
  StandardResult,
  StandardSchema,
} from '../../discovery/decorators/payload-type.js';
import { validateAsClass, type PayloadClass } from './validate-as-class.js';
import { invalidPayload } from './invalid-payload.js';
import { isPromiseLike } from '../is-promise-like.js';
import { quotesPayload } from './quotes-payload.js';

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
  return isPromiseLike(result)
    ? acceptedLater(result, value, handler)
    : accepted(result, value, handler);
}

async function acceptedLater(
  result: PromiseLike<StandardResult<unknown>>,
  value: unknown,
  handler: string,
): Promise<unknown> {
  return accepted(await result, value, handler);
}

function accepted(result: StandardResult<unknown>, value: unknown, handler: string): unknown {
  if (!result.issues) return result.value;
  const issues = result.issues.map((issue) => {
    const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
    const refused = path.reduce<unknown>(partOf, value);
    const told = quotesPayload(issue.message, refused)
      ? redactedMessage(issue, refused)
      : issue.message;
    return path.length === 0 ? told : `${path.map(String).join('.')}: ${told}`;
  });
  throw invalidPayload(handler, issues);
}

function partOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined;
}

/** In the place of words that repeat what was refused. Not in the standard, but many have one of these. */
function redactedMessage(issue: object, refused: unknown): string {
  const { code, type } = issue as Readonly<Record<string, unknown>>;
  const told = [code, type].find((each) => typeof each === 'string' && each !== '');
  return typeof told === 'string' && !quotesPayload(told, refused) ? told : 'is not valid';
}
