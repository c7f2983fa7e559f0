import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import type {
  PayloadType,
  StandardResult,
  StandardSchema,
} from '../../discovery/decorators/payload-type.js';
import { fieldPath } from './field-path.js';
import { validateAsClass, type PayloadClass } from './validate-as-class.js';
import { invalidPayload } from './invalid-payload.js';
import { isPromiseLike } from '../and-then.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { partOf, quotesPayload } from './quotes-payload.js';

/**
 * Returns a step that replaces the value by the result of its payload class or schema. The step
 * throws or rejects with a PayloadValidationException. Returns undefined if no handler declares a
 * payload.
 */
export function validatePayload(
  handlers: readonly HandlerDefinition[],
): PreparationStep | undefined {
  return handlers.some(({ payload }) => payload !== undefined) ? validateCall : undefined;
}

function validateCall(call: RecordCall): Prepared | Promise<Prepared> {
  const { delivery, handler, record, value } = call;
  // A tombstone has no payload to validate.
  if (handler.payload === undefined || delivery.record.value === null) return undefined;
  const payload = validated(handler.payload, value, handler.origin);
  if (isPromiseLike(payload)) return setPayloadLater(call, payload);
  call.record = record.withValue(payload);
  return undefined;
}

async function setPayloadLater(call: RecordCall, payload: PromiseLike<unknown>): Promise<Prepared> {
  call.record = call.record.withValue(await payload);
  return undefined;
}

/** `handler` names the handler in the message of the error. */
function validated(type: PayloadType, value: unknown, handler: string): unknown {
  return isStandardSchema(type)
    ? validateWithSchema(type, value, handler)
    : validateAsClass(type as PayloadClass, value, handler);
}

/**
 * Returns whether the payload type is a Standard Schema, which may be a function. Every other type
 * is a class.
 */
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
    // A path that leads nowhere may quote any part of the payload.
    const refused = path.reduce<unknown>(partOf, value) ?? value;
    const text = quotesPayload(issue.message, refused)
      ? redactedMessage(issue, refused)
      : issue.message;
    return path.length === 0 ? text : `${fieldPath(path)}: ${text}`;
  });
  throw invalidPayload(handler, issues);
}

/**
 * Returns the message of an issue, unless it quotes the refused value. `code` and `type` are not in
 * the standard, but many schemas have one of them.
 */
function redactedMessage(issue: object, refused: unknown): string {
  const { code, type } = issue as Readonly<Record<string, unknown>>;
  const label = [code, type].find((each) => typeof each === 'string' && each !== '');
  return typeof label === 'string' && !quotesPayload(label, refused) ? label : 'is not valid';
}
