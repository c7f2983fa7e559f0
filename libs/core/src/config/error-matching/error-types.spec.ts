import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventPublishException } from '../../errors/publish-errors.js';
import { fromEnvironment } from '../../presets/from-environment.js';
import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { closestDistance } from './error-distance.js';
import type { ErrorMatcher } from './error-matcher.js';
import type { EventBusProperties } from '../properties/event-bus-properties.js';
import { LIBRARY_ERRORS, NAMED_ERRORS } from './known-errors.js';
import { PRESETS } from '../reading/presets.js';
import { resolveBinding } from '../resolving/resolve-binding.js';
import { resolveOptions } from '../resolving/resolve-options.js';

class PaymentError extends Error {}
class PaymentDeclined extends PaymentError {}
class OtherPaymentError extends Error {}

const retryable = (...retryableExceptions: ErrorMatcher[]) => ({ retry: { retryableExceptions } });
const resolved = (name: ErrorMatcher, options: object = {}) =>
  resolvedOrders(retryable(name), options).retry.retryableExceptions[0];
const complaints = (properties: object, options: object = {}) =>
  complaintsOf(() => resolvedOrders(properties, options));

const unknown = (name: string, hint = '') =>
  `there is no error type '${name}'.${hint} Register its class in the options, errorTypes: { ${name} }, or write { name: '${name}' } to match by name without a class.`;

describe('The name of an error in the options', () => {
  it.each([...NAMED_ERRORS])('%s is known, and matches the errors with this name', (name) => {
    expect(resolved(name)).toBe(name);
  });

  it.each(Object.entries(LIBRARY_ERRORS))('%s is known and replaced by its class', (name, type) => {
    expect(resolved(name)).toBe(type);
  });

  it('may be that of any error class of the library', () => {
    const folder = join(__dirname, '../../errors');
    const declared = readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        [...readFileSync(join(folder, file), 'utf8').matchAll(/^export .*class (\w+)/gm)].map(
          ([, name]) => name,
        ),
      );
    // Not exported: applications extend one of its subclasses.
    const known = [...Object.keys(LIBRARY_ERRORS), 'ApplicationException'];
    expect(new Set(declared)).toEqual(new Set(known));
  });

  it.each(Object.entries(PRESETS))('is known if preset %s uses it', (_, { binding }) => {
    for (const matcher of binding.retry?.nonRetryableExceptions ?? []) {
      if (typeof matcher === 'string') expect(NAMED_ERRORS).toContain(matcher);
    }
  });

  it('is replaced by the registered class in every option that lists errors', () => {
    const retry = {
      retryableExceptions: ['PaymentError'],
      nonRetryableExceptions: ['Declined'],
      skipToTierMapping: [{ match: 'Other', tier: 1 }],
    };
    const errorTypes = { PaymentError, Declined: PaymentDeclined, Other: OtherPaymentError };
    expect(resolvedOrders({ retry }, { errorTypes }).retry).toMatchObject({
      retryableExceptions: [PaymentError],
      nonRetryableExceptions: [PaymentDeclined],
      skipToTierMapping: [{ match: OtherPaymentError, tier: 1 }],
    });
  });

  it('matches subclasses of its class; of two matching names, the more specific one decides', () => {
    const errorTypes = { Failed: PaymentError, Declined: PaymentDeclined };
    const distance = (name: string, error: Error) =>
      closestDistance([resolved(name, { errorTypes }) as ErrorMatcher], error);
    expect(distance('Failed', new PaymentDeclined())).toBe(1);
    expect(distance('Declined', new PaymentDeclined())).toBe(0);
    expect(distance('Declined', new PaymentError())).toBeUndefined();
    expect(distance('Failed', Object.assign(new Error(), { name: 'Failed' }))).toBeUndefined();
  });

  it('may begin with a package, and may be registered with or without that package', () => {
    const errorTypes = { PaymentError, 'a.Late': PaymentDeclined };
    expect(resolved('com.shop.PaymentError', { errorTypes })).toBe(PaymentError);
    expect(resolved('a.Late', { errorTypes })).toBe(PaymentDeclined);
    expect(resolved('java.lang.IllegalArgumentException')).toBe(
      'java.lang.IllegalArgumentException',
    );
  });

  it('resolves to the class of the application even if the library knows the name', () => {
    const errorTypes = { TimeoutError: PaymentError, EventPublishException: PaymentDeclined };
    expect(resolved('TimeoutError', { errorTypes })).toBe(PaymentError);
    expect(resolved('EventPublishException', { errorTypes })).toBe(PaymentDeclined);
    expect(resolved('EventPublishException')).toBe(EventPublishException);
  });

  it('distinguishes two registered classes that have the same class name', () => {
    const TimeoutOf = () => class RequestTimeout extends Error {};
    const errorTypes = { PgTimeout: TimeoutOf(), HttpTimeout: TimeoutOf() };
    const retry = (other: string) => ({
      retryableExceptions: ['PgTimeout'],
      nonRetryableExceptions: [other],
    });
    expect(complaints({ retry: retry('HttpTimeout') }, { errorTypes })).toEqual([]);
    expect(complaints({ retry: retry('PgTimeout') }, { errorTypes })[0]).toContain(
      'EXCEPTION_OVERLAP',
    );
  });

  it.each<ErrorMatcher>([
    PaymentError,
    { name: 'NobodyKnows' },
    { code: 'E1' },
    { matches: () => true },
  ])('is the only matcher that needs a registration: %p needs none', (matcher) => {
    expect(resolved(matcher)).toEqual(matcher);
  });
});

describe('An unknown name of an error', () => {
  it('is refused with its path and a remedy', () => {
    const retry = {
      retryableExceptions: ['TypeError', 'Zzz'],
      nonRetryableExceptions: ['toString'],
      skipToTierMapping: [{ match: 'Qqq', tier: 1 }],
    };
    expect(complaints({ retry })).toEqual([
      `UNKNOWN_ERROR_TYPE bindings.orders.retry.retryableExceptions[1]: ${unknown('Zzz')}`,
      `UNKNOWN_ERROR_TYPE bindings.orders.retry.nonRetryableExceptions[0]: ${unknown('toString')}`,
      `UNKNOWN_ERROR_TYPE bindings.orders.retry.skipToTierMapping[0].match: ${unknown('Qqq')}`,
    ]);
    const [violation] = violationsOf(() => resolvedOrders(retryable('Zzz')));
    expect(violation).toMatchObject({ binding: 'orders', value: 'Zzz' });
  });

  it.each([
    ['TimeoutErorr', 'TimeoutError'],
    ['IllegalArgumentExeption', 'IllegalArgumentException'],
    ['PaymentEror', 'PaymentError'],
  ])('%s is refused with a message that suggests %s', (name, nearest) => {
    expect(complaints(retryable(name), { errorTypes: { PaymentError } })).toEqual([
      `UNKNOWN_ERROR_TYPE bindings.orders.retry.retryableExceptions[0]: ${unknown(name, ` Did you mean '${nearest}'?`)}`,
    ]);
  });

  it('is reported once if the defaults contain it, however many bindings there are', () => {
    const defaults = retryable('Zzz');
    const expected = [
      `UNKNOWN_ERROR_TYPE defaults.retry.retryableExceptions[0]: ${unknown('Zzz')}`,
    ];
    expect(complaintsOf(() => resolveOptions({ brokers: 'a:1', defaults }))).toEqual(expected);
    const bindings = { a: { topic: 'a', groupId: 'g' }, b: { topic: 'b', groupId: 'g' } };
    const run = () => resolveOptions({ brokers: 'a:1', defaults, bindings });
    expect(complaintsOf(run)).toEqual(expected);
  });

  it('is refused in a binding that is registered at run time, unless the options registered it at startup', () => {
    const { context } = resolveOptions(orders({}, { errorTypes: { PaymentError } }));
    const late = (name: string) => {
      const properties = { topic: 'late', groupId: 'g', ...retryable(name) };
      return resolveBinding('late', [{ source: 'register()', properties }], context);
    };
    expect(late('PaymentError').retry.retryableExceptions).toEqual([PaymentError]);
    expect(complaintsOf(() => late('Zzz'))).toEqual([
      `UNKNOWN_ERROR_TYPE bindings.late.retry.retryableExceptions[0]: ${unknown('Zzz')}`,
    ]);
  });
});

describe('Names of errors from a file or the environment', () => {
  const loaded = fromEnvironment({
    EVENTBUS_BINDINGS_ORDERS_RETRY_RETRYABLE_EXCEPTIONS: 'TimeoutError,PaymentError',
    EVENTBUS_BINDINGS_ORDERS_RETRY_SKIP_TO_TIER_MAPPING: 'PaymentDeclined:2',
  });

  it('resolve to the classes that the options register', () => {
    const errorTypes = { PaymentError, PaymentDeclined };
    expect(resolvedOrders({}, { errorTypes }, { loaders: [loaded] }).retry).toMatchObject({
      retryableExceptions: ['TimeoutError', PaymentError],
      skipToTierMapping: [{ match: PaymentDeclined, tier: 2 }],
    });
  });

  it('are refused if they are unknown', () => {
    const rules = violationsOf(() => resolvedOrders({}, {}, { loaders: [loaded] }));
    expect(rules.map(({ rule, value }) => [rule, value])).toEqual([
      ['UNKNOWN_ERROR_TYPE', 'PaymentError'],
      ['UNKNOWN_ERROR_TYPE', 'PaymentDeclined'],
    ]);
  });

  it('resolve to one merged errorTypes: options override loaders, and a loader overrides the loaders after it', () => {
    const loaders: Partial<EventBusProperties>[] = [
      { errorTypes: { PaymentError: OtherPaymentError, B: PaymentError } },
      { errorTypes: { B: OtherPaymentError, C: PaymentDeclined } },
    ];
    const { retry } = resolvedOrders(
      retryable('PaymentError', 'B', 'C'),
      { errorTypes: { PaymentError } },
      { loaders },
    );
    expect(retry.retryableExceptions).toEqual([PaymentError, PaymentError, PaymentDeclined]);
  });
});

describe('errorTypes', () => {
  it('defaults to an empty map', () => {
    expect(EVENTBUS_DEFAULTS.errorTypes).toEqual({});
    expect(resolveOptions({ brokers: 'a:1' }).context.errorTypes?.size).toBe(0);
  });

  const EXPECTED = 'must be a plain object of error classes, such as { PaymentDeclined }';
  it.each<[unknown, string]>([
    [[PaymentError], 'got a list'],
    ['PaymentError', "got 'PaymentError'"],
    [{ Foreign: class Foreign {} }, "'Foreign' is the class Foreign"],
    [{ Made: new Error('x') }, "'Made' is an instance of Error"],
    [{ Nothing: undefined }, "'Nothing' is undefined"],
    [{ 'not a name': PaymentError }, "'not a name' cannot be the name of a class"],
  ])('refuses %p, and then does not report the names as unknown, too', (errorTypes, what) => {
    expect(complaints(retryable('Zzz'), { errorTypes })).toEqual([
      `ERROR_TYPES errorTypes: ${EXPECTED}; ${what}.`,
    ]);
  });

  it.each(['__proto__', 'constructor', 'prototype'])('refuses the name %s', (name) => {
    const errorTypes = Object.fromEntries([[name, PaymentError]]);
    expect(complaints({}, { errorTypes })[0]).toContain(`FORBIDDEN_KEY errorTypes.${name}`);
  });

  it('is neither changed nor frozen by resolveOptions()', () => {
    const errorTypes = { PaymentError };
    resolvedOrders(retryable('PaymentError'), { errorTypes });
    expect(errorTypes).toEqual({ PaymentError });
    expect(Object.isFrozen(errorTypes)).toBe(false);
    expect(Object.isFrozen(PaymentError)).toBe(false);
  });
});
