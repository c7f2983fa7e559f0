import { nearestName } from '../../model/nearest-name.js';
import {
  isClassName,
  isErrorClass,
  simpleName,
  type ErrorClass,
  type ErrorMatcher,
} from './error-matcher.js';
import type { ExceptionRouteProperties } from '../properties/exception-route-properties.js';
import { LIBRARY_ERRORS, NAMED_ERRORS } from './known-errors.js';
import type { Layer } from '../reading/merge-layers.js';
import { isPlainObject } from '../reading/plain-object.js';
import { Property } from '../properties/property-decorators.js';
import { isBrokenIn } from '../reading/read-layer.js';
import type { RetryProperties } from '../properties/retry-properties.js';
import { formatValue } from '../reading/format-value.js';
import { below, type Violations } from '../validation/violations.js';

/** Error classes of the application by the names it registered. */
export type ErrorTypes = ReadonlyMap<string, ErrorClass>;

export function IsErrorTypes(): PropertyDecorator {
  return Property({
    kind: 'reference',
    rule: 'ERROR_TYPES',
    accepts: (value) => isPlainObject(value) && invalidEntry(value) === undefined,
    complaint: (value) => {
      const expectation = 'must be a plain object of error classes, such as { PaymentDeclined }';
      const invalid = isPlainObject(value) ? invalidEntry(value) : undefined;
      if (!invalid) return `${expectation}; got ${formatValue(value)}.`;
      const [name, type] = invalid;
      return isClassName(name)
        ? `${expectation}; ${formatValue(name)} is ${formatValue(type)}.`
        : `${expectation}; ${formatValue(name)} cannot be the name of a class.`;
    },
  });
}

const invalidEntry = (value: object): [string, unknown] | undefined =>
  Object.entries(value).find(([name, type]) => !isClassName(name) || !isErrorClass(type));

/**
 * Merges the names of all layers; the highest layer wins. Returns undefined if a layer is invalid: that
 * was reported, and it is unknown which names it was meant to define.
 */
export function errorTypesOf(roots: readonly Layer[]): ErrorTypes | undefined {
  if (isBrokenIn(roots, 'errorTypes')) return undefined;
  const given = roots.map(
    ({ values }) => (values['errorTypes'] ?? {}) as Readonly<Record<string, ErrorClass>>,
  );
  return new Map(given.reverse().flatMap((types) => Object.entries(types)));
}

/** Replaces a registered name by its class. Other matchers stay as they are. */
export function withClass(matcher: ErrorMatcher, types: ErrorTypes | undefined): ErrorMatcher {
  if (typeof matcher !== 'string') return matcher;
  const simple = simpleName(matcher);
  return types?.get(matcher) ?? types?.get(simple) ?? libraryError(simple) ?? matcher;
}

const libraryError = (name: string): ErrorClass | undefined =>
  Object.hasOwn(LIBRARY_ERRORS, name) ? LIBRARY_ERRORS[name] : undefined;

/** Refuses unknown names at startup. They match nothing, which would only show when the error occurs. */
export function rejectUnknownErrors(
  layer: Layer,
  types: ErrorTypes | undefined,
  violations: Violations,
): Layer {
  if (!types) return layer;
  const unknown = matchersIn(layer).filter(({ matcher }) => isUnknown(matcher, types));
  for (const { key, matcher } of unknown) {
    violations.add(
      'UNKNOWN_ERROR_TYPE',
      below(layer.path, key),
      matcher,
      complaint(String(matcher), types),
    );
  }
  return { ...layer, broken: [...(layer.broken ?? []), ...unknown.map(({ key }) => key)] };
}

const isUnknown = (matcher: unknown, types: ErrorTypes): boolean =>
  typeof matcher === 'string' &&
  withClass(matcher, types) === matcher &&
  !NAMED_ERRORS.includes(simpleName(matcher));

function complaint(name: string, types: ErrorTypes): string {
  const known = [...types.keys(), ...Object.keys(LIBRARY_ERRORS), ...NAMED_ERRORS];
  const simple = simpleName(name);
  const nearest = nearestName(name, known) ?? nearestName(simple, known);
  const hint = nearest ? ` Did you mean '${nearest}'?` : '';
  return `there is no error type ${formatValue(name)}.${hint} Register its class in the options, errorTypes: { ${simple} }, or write { name: '${simple}' } to match by name without a class.`;
}

interface GivenMatcher {
  readonly key: string;
  readonly matcher: unknown;
}

function matchersIn({ values }: Layer): readonly GivenMatcher[] {
  const retry = (values['retry'] ?? {}) as Partial<RetryProperties>;
  const listed = (['retryableExceptions', 'nonRetryableExceptions'] as const).flatMap((list) =>
    (retry[list] ?? []).map((matcher, index) => ({ key: `retry.${list}[${index}]`, matcher })),
  );
  const skips = (retry.skipToTierMapping ?? []).map(({ match }, index) => ({
    key: `retry.skipToTierMapping[${index}].match`,
    matcher: match,
  }));
  const routes = ((values['exceptionRouting'] ?? []) as Partial<ExceptionRouteProperties>[]).map(
    ({ match }, index) => ({ key: `exceptionRouting[${index}].match`, matcher: match }),
  );
  return [...listed, ...skips, ...routes];
}
