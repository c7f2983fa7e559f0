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
 * One layer as somebody wrote it, checked against its properties class. What is right comes back
 * as plain objects with durations in milliseconds; what is wrong is reported and left out. The
 * given object is only read.
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
  const opaque = new ValuesByReference();
  const plain = separate(type, given, path, { opaque, violations });
  const instance = opaque.putBack(plainToInstance(type, plain));
  const errors = errorsIn(instance);
  if (!errors) {
    const message = `cannot be checked: it has a list or an object where none belongs, with something in it that is no plain value. Remove it.`;
    violations.add('OBJECT', path, undefined, message);
    return {};
  }
  report(errors, path, violations);
  return valuesOf(type, instance, path, violations);
}

/** undefined where class-validator itself fails: it asks every object that it comes across for its class. */
function errorsIn(instance: object): readonly ValidationError[] | undefined {
  try {
    return validateSync(instance, { validationError: { target: false } });
  } catch {
    return undefined;
  }
}

interface Reading {
  readonly opaque: ValuesByReference;
  readonly violations: Violations;
}

const isPropertiesObject = (value: unknown, type: PropertiesClass): value is PlainObject =>
  isPlainObject(value) || value instanceof type;

/** A copy in which class-transformer finds nothing but literals, lists and primitives. */
function separate(
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
    else if (given[key] !== undefined) copy[key] = separateValue(shape, given[key], at, reading);
  }
  return copy;
}

function separateValue(
  shape: PropertyShape,
  value: unknown,
  path: string,
  reading: Reading,
): unknown {
  switch (shape.kind) {
    case 'nested':
      return separateNested(shape, value, path, reading);
    case 'nested-list':
      if (!Array.isArray(value)) return reading.opaque.takeOut(value);
      return Array.from<unknown>(value).map((item, index) =>
        separateNested(shape, item, `${path}[${index}]`, reading),
      );
    case 'map':
      return reading.opaque.takeOut(value);
    case 'reference':
    case 'matcher':
    case 'matchers':
      rejectForbiddenKeys(value, path, reading.violations);
      return reading.opaque.takeOut(value);
    case 'text':
    case 'texts':
    case 'flag':
    case 'number':
    case 'duration':
    case 'choice':
    case 'choices':
    case 'list':
      return reading.opaque.takeOut(value);
  }
}

function separateNested(
  { type }: PropertyShape,
  value: unknown,
  path: string,
  reading: Reading,
): unknown {
  if (type && isPropertiesObject(value, type())) return separate(type(), value, path, reading);
  return reading.opaque.takeOut(value);
}

/** TLS options and the like are not copied, but they come from the same files. */
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

function reportForbidden(path: string, key: string, violations: Violations): void {
  const message = `'${key}' is not allowed as a key anywhere in the options: it could change every object of the process. Remove it.`;
  violations.add('FORBIDDEN_KEY', path, undefined, message);
}

/** Without the value: what is misspelt may be a password. */
function reportUnknown(
  path: string,
  key: string,
  known: readonly string[],
  violations: Violations,
): void {
  const message = `there is no option ${formatValue(key)} here. ${suggestion(key, known)}`;
  violations.add('UNKNOWN_KEY', path, undefined, message);
}

function report(errors: readonly ValidationError[], path: string, violations: Violations): void {
  for (const { property, value, contexts, constraints, children } of errors) {
    const at = /^\d+$/.test(property) ? `${path}[${property}]` : below(path, property);
    const shape = contexts?.[PROPERTY_CONTEXT] as PropertyShape | undefined;
    const message = constraints?.[PROPERTY_CONTEXT];
    // With the value itself wrong, what class-validator says about its inside means nothing.
    if (shape && message !== undefined) {
      violations.add(shape.rule, at, shape.secret ? undefined : (value as unknown), message);
    } else report(children ?? [], at, violations);
  }
}

/** Back from instances to literals, without what was found wrong. */
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
    const isWrong = violations.all.some((violation) => violation.path === at);
    if (value !== undefined && !isWrong) values[key] = valueOf(shape, value, at, violations);
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

/** The result is frozen, so it must not hold the caller's own lists and literals. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  return isPlainObject(value) ? { ...value } : value;
}
