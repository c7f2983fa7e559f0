import type { FaultRule } from '../fault.js';
import { isObject } from '../thrown.js';

/** class-validator rejects with a list of ValidationErrors, which are no Errors. */
export const validationRules: readonly FaultRule[] = [
  {
    name: 'class-validator refuses the data',
    fault: 'message',
    matches: ({ value }) => isRefusal(Array.isArray(value) ? value[0] : value),
  },
  {
    name: 'a schema refuses the data',
    fault: 'message',
    matches: ({ value }) => hasIssues(value),
  },
  {
    // Names used by ajv, Joi, yup and Mongoose; CastError is Mongoose's.
    name: 'a validator refuses the data',
    fault: 'message',
    matches: ({ names }) => names.has('ValidationError') || names.has('CastError'),
  },
];

function isRefusal(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { property, constraints, children } = value as Readonly<Record<string, unknown>>;
  return typeof property === 'string' && (isObject(constraints) || Array.isArray(children));
}

/** Issues of a Standard Schema, such as zod, valibot and arktype. */
function hasIssues(value: object): boolean {
  const { issues } = value as { readonly issues?: unknown };
  if (!Array.isArray(issues) || issues.length === 0) return false;
  const [first] = issues as readonly unknown[];
  return isObject(first) && typeof (first as { readonly message?: unknown }).message === 'string';
}
