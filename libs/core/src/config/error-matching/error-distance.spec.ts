import { closestDistance, errorDistance } from './error-distance.js';
import type { ErrorMatcher } from './error-matcher.js';

class DatabaseError extends Error {}
class Timeout extends DatabaseError {
  readonly code = 'ETIMEDOUT';
}
class Renamed extends Error {
  override readonly name = 'RemoteFailure';
}
class NamedByPrototype extends Error {}
Object.defineProperty(NamedByPrototype.prototype, 'name', { value: 'HttpError' });
class ConflictError extends NamedByPrototype {}

const timeout = new Timeout();
const unreadable = (): Error =>
  Object.defineProperty(new Error(), 'code', {
    get: () => {
      throw new TypeError('broken');
    },
  });

describe('errorDistance()', () => {
  it.each<[string, ErrorMatcher, Error, number | undefined]>([
    ['its class', Timeout, timeout, 0],
    ['the class it inherits from', DatabaseError, timeout, 1],
    ['Error', Error, timeout, 2],
    ['another class', TypeError, timeout, undefined],
    ['a subclass', Timeout, new DatabaseError(), undefined],
    ['the name of its class', 'Timeout', timeout, 0],
    ['the name of a base class', 'DatabaseError', timeout, 1],
    ['Error by name, which every error inherits', 'Error', timeout, 2],
    ['{ name }', { name: 'DatabaseError' }, timeout, 1],
    ['a name in a Java package', 'java.sql.Timeout', timeout, 0],
    ['a name that only looks alike', 'imeout', timeout, undefined],
    ['the name that the error sets itself', 'RemoteFailure', new Renamed(), 0],
    ['the name of its prototype', 'HttpError', new NamedByPrototype(), 0],
    ['the name of the base prototype', 'HttpError', new ConflictError(), 1],
    ['AbortError', 'AbortError', new DOMException('', 'AbortError'), 0],
    ['another DOMException', 'AbortError', new DOMException('', 'TimeoutError'), undefined],
    ['its code, closer than any class', { code: 'ETIMEDOUT' }, timeout, -1],
    ['another code', { code: 'ECONNRESET' }, timeout, undefined],
    ['a number', { code: 503 }, Object.assign(new Error(), { code: 503 }), -1],
    [
      'a numeric code for an error with a text code',
      { code: 503 },
      Object.assign(new Error(), { code: '503' }),
      undefined,
    ],
    ['its HTTP status', { status: 503 }, Object.assign(new Error(), { status: 503 }), -1],
    [
      'the status of its response',
      { status: 503 },
      Object.assign(new Error(), { response: { status: 503 } }),
      -1,
    ],
    ['another status', { status: 503 }, Object.assign(new Error(), { status: 502 }), undefined],
    ['a code that cannot be read', { code: 'E' }, unreadable(), undefined],
    [
      'a function, closer than any class',
      { matches: ({ message }) => message === '' },
      timeout,
      -1,
    ],
    ['a function that returns false', { matches: () => false }, timeout, undefined],
  ])('returns the distance of a matcher: %s', (_what, matcher, error, distance) => {
    expect(errorDistance(matcher, error)).toBe(distance);
  });

  it('closestDistance() returns the distance of the closest matcher', () => {
    expect(closestDistance([Error, DatabaseError, TypeError], timeout)).toBe(1);
    expect(closestDistance([TypeError], timeout)).toBeUndefined();
    expect(closestDistance([], timeout)).toBeUndefined();
  });

  it('closestDistance() ranks any match of the error before a match of its cause', () => {
    const wrapped = new Error('order failed', { cause: new RangeError('odd', { cause: timeout }) });
    expect(closestDistance([Timeout], wrapped)).toBe(2_000);
    expect(closestDistance([DatabaseError, RangeError], wrapped)).toBe(1_000);
    expect(closestDistance([{ code: 'ETIMEDOUT' }], wrapped)).toBe(1_999);
    expect(closestDistance([Timeout, Error], wrapped)).toBe(0);
    expect(closestDistance([EvalError], wrapped)).toBeUndefined();
  });

  it('closestDistance() follows neither circular causes nor causes that are no errors', () => {
    const own = new Error('its own cause');
    own.cause = own;
    expect(closestDistance([TypeError], own)).toBeUndefined();
    expect(closestDistance([{ code: 1 }], new Error('x', { cause: { code: 1 } }))).toBeUndefined();
  });
});
