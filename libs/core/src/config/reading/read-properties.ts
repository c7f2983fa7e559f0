import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { parseDuration } from './duration.js';
import { suggestion } from '../../model/nearest-name.js';
import { ValuesByReference } from './values-by-reference.js';
import { isForbiddenKey, isPlainObject, type PlainObject } from './plain-object.js';
import {
  PROPERTY_CONTEXT,
  type PropertiesClass,
  type PropertyShape,
} from '../properties/property-decorators.js';
import { propertiesOf } from '../properties/property-tree.js';
import { formatValue } from './format-value.js';
import { below, type Violations } from '../validation/violations.js';

/**
 * Validates one layer against its properties class. Returns valid values as plain objects, with
 * durations in milliseconds. Invalid values are reported and left out. The given object is not changed.
 */
export function readProperties(
  type: PropertiesClass,
  given: unknown,
  path: string,
  violations: Violations,
): PlainObject {
  if (!isPropertiesObject(given, type)) {
    violations.add('OBJECT', path, undefined, `must be a plain object; got ${formatValue(given)}.`);
    return {};
  }
  const byReference = new ValuesByReference();
  const plain = copyForTransformer(type, given, path, { byReference, violations });
  const instance = byReference.putBack(plainToInstance(type, plain));
  const errors = errorsIn(instance);
  if (!errors) {
    const message = `cannot be checked: it has a list or an object where none belongs, with something in it that is no plain value. Remove it.`;
    violations.add('OBJECT', path, undefined, message);
    return {};
  }
  reportErrors(errors, path, violations);
  return valuesOf(type, instance, path, violations);
}

/**
 * Returns undefined if class-validator itself throws. It does so for some values, because it reads
 * the constructor of every object.
 */
function errorsIn(instance: object): readonly ValidationError[] | undefined {
  try {
    return validateSync(instance, { validationError: { target: false } });
  } catch {
    return undefined;
  }
}

interface Reading {
  readonly byReference: ValuesByReference;
  readonly violations: Violations;
}

const isPropertiesObject = (value: unknown, type: PropertiesClass): value is PlainObject =>
  isPlainObject(value) || value instanceof type;

/**
 * Returns a copy that contains only literals, lists and primitives, because class-transformer would
 * change other values.
 */
function copyForTransformer(
  type: PropertiesClass,
  given: PlainObject,
  path: string,
  reading: Reading,
): PlainObject {
  const known = propertiesOf(type);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(given)) {
    const at = below(path, key);
    const shape = known.get(key);
    if (isForbiddenKey(key)) reportForbidden(at, key, reading.violations);
    else if (!shape) reportUnknown(at, key, [...known.keys()], reading.violations);
    else if (given[key] !== undefined) copy[key] = copyValue(shape, given[key], at, reading);
  }
  return copy;
}

function copyValue(shape: PropertyShape, value: unknown, path: string, reading: Reading): unknown {
  switch (shape.kind) {
    case 'nested':
      return copyNested(shape, value, path, reading);
    case 'nested-list':
      if (!Array.isArray(value)) return reading.byReference.takeOut(value);
      return Array.from<unknown>(value).map((item, index) =>
        copyNested(shape, item, `${path}[${index}]`, reading),
      );
    case 'map':
      return reading.byReference.takeOut(value);
    case 'reference':
    case 'matcher':
    case 'matchers':
      rejectForbiddenKeys(value, path, reading.violations);
      rejectUnknownKeys(value, shape.knownKeys, path, reading.violations);
      return reading.byReference.takeOut(value);
    case 'text':
    case 'texts':
    case 'flag':
    case 'number':
    case 'duration':
    case 'choice':
    case 'choices':
    case 'list':
      return reading.byReference.takeOut(value);
  }
}

function copyNested(
  { type }: PropertyShape,
  value: unknown,
  path: string,
  reading: Reading,
): unknown {
  if (type && isPropertiesObject(value, type()))
    return copyForTransformer(type(), value, path, reading);
  return reading.byReference.takeOut(value);
}

/**
 * Also checks values that are passed by reference, such as TLS options, because they may come from
 * the same configuration file.
 */
function rejectForbiddenKeys(
  value: unknown,
  path: string,
  violations: Violations,
  seen = new Set<unknown>(),
): void {
  if (seen.has(value) || (!isPlainObject(value) && !Array.isArray(value))) return;
  seen.add(value);
  for (const [key, inner] of Object.entries(value)) {
    const at = below(path, key);
    if (isForbiddenKey(key)) reportForbidden(at, key, violations);
    else rejectForbiddenKeys(inner, at, violations, seen);
  }
}

function rejectUnknownKeys(
  value: unknown,
  known: PropertyShape['knownKeys'],
  path: string,
  violations: Violations,
): void {
  if (!known || typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const key of Object.keys(value)) {
    if (known.includes(key) || isForbiddenKey(key)) continue;
    reportUnknown(below(path, key), key, known, violations);
  }
}

function reportForbidden(path: string, key: string, violations: Violations): void {
  const message = `'${key}' is not allowed as a key anywhere in the options: it could change every object of the process. Remove it.`;
  violations.add('FORBIDDEN_KEY', path, undefined, message);
}

/** Reports the key without its value, because the misspelt option may be a password. */
function reportUnknown(
  path: string,
  key: string,
  known: readonly string[],
  violations: Violations,
): void {
  const message = `there is no option ${formatValue(key)} here. ${suggestion(key, known)}`;
  violations.add('UNKNOWN_KEY', path, undefined, message);
}

function reportErrors(
  errors: readonly ValidationError[],
  path: string,
  violations: Violations,
): void {
  for (const { property, value, contexts, constraints, children } of errors) {
    const at = /^\d+$/.test(property) ? `${path}[${property}]` : below(path, property);
    const shape = contexts?.[PROPERTY_CONTEXT] as PropertyShape | undefined;
    const message = constraints?.[PROPERTY_CONTEXT];
    // Reports only the value itself if it is invalid: the errors of its children would then be
    // meaningless.
    if (shape && message !== undefined) {
      violations.add(shape.rule, at, shape.secret ? undefined : (value as unknown), message);
    } else reportErrors(children ?? [], at, violations);
  }
}

/** Converts class instances back to literals, and leaves out invalid values. */
function valuesOf(
  type: PropertiesClass,
  instance: object,
  path: string,
  violations: Violations,
): PlainObject {
  const values: Record<string, unknown> = {};
  for (const [key, shape] of propertiesOf(type)) {
    const value = (instance as PlainObject)[key];
    const at = below(path, key);
    const isInvalid = violations.all.some((violation) => violation.path === at);
    if (value !== undefined && !isInvalid) values[key] = valueOf(shape, value, at, violations);
  }
  return values;
}

function valueOf(
  shape: PropertyShape,
  value: unknown,
  path: string,
  violations: Violations,
): unknown {
  const { kind, type } = shape;
  if (kind === 'duration') return parseDuration(value);
  if (kind === 'nested' && type) return valuesOf(type(), value as object, path, violations);
  if (kind === 'nested-list' && type && Array.isArray(value)) {
    return value.map((item, index) =>
      valuesOf(type(), item as object, `${path}[${index}]`, violations),
    );
  }
  if (kind === 'reference') return shape.kept ? shape.kept(value) : value;
  if (kind === 'map') return value;
  return copyOf(value);
}

/** Copies lists and literals of the caller, because the result is frozen later. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  return isPlainObject(value) ? { ...value } : value;
}
