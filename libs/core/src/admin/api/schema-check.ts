import type { JsonSchema } from './schema.js';

/** What is wrong with a value, and where. */
export interface Complaint {
  /** Path inside the value: `where.exceptionClass`, or empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

type Rule = (schema: JsonSchema, value: unknown) => string | undefined;

/** RFC 3339 in full: a time without a zone would mean another time on another machine. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;
const MOST_COMPLAINTS = 10;

const RULES: readonly Rule[] = [
  ({ type }, value) => (type === undefined || hasType(type, value) ? undefined : expected(type)),
  (schema, value) =>
    'const' in schema && value !== schema.const
      ? `must be ${JSON.stringify(schema.const)}`
      : undefined,
  ({ enum: values }, value) =>
    values && !values.includes(value) ? `must be one of ${values.join(', ')}` : undefined,
  textRule(({ minLength = 0 }, { length }) => length < minLength && `is shorter than ${minLength}`),
  textRule(
    ({ maxLength = Infinity }, { length }) => length > maxLength && `is longer than ${maxLength}`,
  ),
  textRule(
    ({ pattern }, value) =>
      pattern !== undefined && !new RegExp(pattern, 'u').test(value) && `must match ${pattern}`,
  ),
  textRule(
    ({ format }, value) =>
      format === 'date-time' &&
      !(TIME.test(value) && Number.isFinite(Date.parse(value))) &&
      'must be a time in ISO 8601 with its zone, such as 2026-01-31T08:00:00Z',
  ),
  numberRule(({ minimum = -Infinity }, value) => value < minimum && `must be at least ${minimum}`),
  numberRule(
    ({ exclusiveMinimum: bound = -Infinity }, value) => value <= bound && `must be above ${bound}`,
  ),
  numberRule(({ maximum = Infinity }, value) => value > maximum && `must be at most ${maximum}`),
];

/** Compares a value with a schema. Returns nothing if it fits. */
export function complaintsAbout(
  schema: JsonSchema,
  value: unknown,
  path = '',
): readonly Complaint[] {
  for (const rule of RULES) {
    const message = rule(schema, value);
    if (message !== undefined) return [{ path, message }];
  }
  if (schema.anyOf && !schema.anyOf.some((each) => complaintsAbout(each, value).length === 0))
    return [closestComplaint(schema.anyOf, value, path)];
  if (Array.isArray(value)) return listComplaints(schema, value, path);
  if (isObject(value)) return objectComplaints(schema, value, path);
  return [];
}

/** Returns the complaint of the alternative that fits best: the one that is deepest in the value. */
function closestComplaint(schemas: readonly JsonSchema[], value: unknown, path: string): Complaint {
  const deep = schemas
    .flatMap((each) => complaintsAbout(each, value, path).slice(0, 1))
    .filter((complaint) => complaint.path !== path);
  return deep[0] ?? { path, message: 'has none of the permitted forms' };
}

function listComplaints(
  { items, minItems = 0, maxItems = Infinity }: JsonSchema,
  values: readonly unknown[],
  path: string,
): readonly Complaint[] {
  if (values.length < minItems) return [{ path, message: `needs at least ${minItems} entries` }];
  if (values.length > maxItems) return [{ path, message: `has more than ${maxItems} entries` }];
  const each = items ?? {};
  return values
    .flatMap((value, index) => complaintsAbout(each, value, `${path}[${index}]`))
    .slice(0, MOST_COMPLAINTS);
}

function objectComplaints(
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
): readonly Complaint[] {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const { minProperties = 0, maxProperties = Infinity } = schema;
  const names = Object.keys(value);
  if (names.length < minProperties) return [{ path, message: 'is empty' }];
  if (names.length > maxProperties)
    return [{ path, message: `has more than ${maxProperties} fields` }];
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const complaints = missing.map((name) => ({ path: inside(path, name), message: 'is missing' }));
  for (const name of names) {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (known === true) continue;
    const at = inside(path, name.slice(0, 100));
    if (known === false || known === undefined) complaints.push(unknownField(at, properties));
    else complaints.push(...complaintsAbout(known, value[name], at));
  }
  return complaints.slice(0, MOST_COMPLAINTS);
}

function unknownField(path: string, known: Readonly<Record<string, JsonSchema>>): Complaint {
  const names = Object.keys(known);
  const hint = names.length === 0 ? 'No field is permitted' : `Known are: ${names.join(', ')}`;
  return { path, message: `is not known. ${hint}` };
}

const inside = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

function textRule(objection: (schema: JsonSchema, value: string) => string | false): Rule {
  return (schema, value) => (typeof value === 'string' && objection(schema, value)) || undefined;
}

function numberRule(objection: (schema: JsonSchema, value: number) => string | false): Rule {
  return (schema, value) => (typeof value === 'number' && objection(schema, value)) || undefined;
}

function hasType(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'boolean':
      return typeof value === type;
  }
}

function expected(type: NonNullable<JsonSchema['type']>): string {
  return type === 'null' ? 'must be null' : `must be ${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
