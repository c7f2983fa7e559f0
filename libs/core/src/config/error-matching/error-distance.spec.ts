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

describe('how closely a matcher names an error', () => {
  it.each<[string, ErrorMatcher, Error, number | undefined]>([
    ['its class', Timeout, timeout, 0],
    ['the class it inherits from', DatabaseError, timeout, 1],
    ['Error', Error, timeout, 2],
    ['another class', TypeError, timeout, undefined],
    ['a class below its own', Timeout, new DatabaseError(), undefined],
    ['the name of its class', 'Timeout', timeout, 0],
    ['the name of one above', 'DatabaseError', timeout, 1],
    ['Error by name, which every error inherits', 'Error', timeout, 2],
    ['{ name }', { name: 'DatabaseError' }, timeout, 1],
    ['a name in a Java package', 'java.sql.Timeout', timeout, 0],
    ['a name that only looks alike', 'imeout', timeout, undefined],
    ['the name that it gave itself', 'RemoteFailure', new Renamed(), 0],
    ['the name that its prototype has', 'HttpError', new NamedByPrototype(), 0],
    ['the name that the prototype above has', 'HttpError', new ConflictError(), 1],
    ['AbortError', 'AbortError', new DOMException('', 'AbortError'), 0],
    ['another DOMException', 'AbortError', new DOMException('', 'TimeoutError'), undefined],
    ['its code, closer than any class', { code: 'ETIMEDOUT' }, timeout, -1],
    ['another code', { code: 'ECONNRESET' }, timeout, undefined],
    ['a number', { code: 503 }, Object.assign(new Error(), { code: 503 }), -1],
    [
      'a number, which is no text',
      { code: 503 },
      Object.assign(new Error(), { code: '503' }),
      undefined,
    ],
    ['its HTTP status', { status: 503 }, Object.assign(new Error(), { status: 503 }), -1],
    [
      'the status of the answer in it',
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
    ['a function that says no', { matches: () => false }, timeout, undefined],
  ])('%s', (_what, matcher, error, distance) => {
    expect(errorDistance(matcher, error)).toBe(distance);
  });

  it('is of several that of the closest', () => {
    expect(closestDistance([Error, DatabaseError, TypeError], timeout)).toBe(1);
    expect(closestDistance([TypeError], timeout)).toBeUndefined();
    expect(closestDistance([], timeout)).toBeUndefined();
  });

  it('is further away for what names its cause than for whatever names itself', () => {
    const wrapped = new Error('order failed', { cause: new RangeError('odd', { cause: timeout }) });
    expect(closestDistance([Timeout], wrapped)).toBe(2_000);
    expect(closestDistance([DatabaseError, RangeError], wrapped)).toBe(1_000);
    expect(closestDistance([{ code: 'ETIMEDOUT' }], wrapped)).toBe(1_999);
    expect(closestDistance([Timeout, Error], wrapped)).toBe(0);
    expect(closestDistance([EvalError], wrapped)).toBeUndefined();
  });

  it('does not follow causes for ever, nor what is no error', () => {
    const own = new Error('its own cause');
    own.cause = own;
    expect(closestDistance([TypeError], own)).toBeUndefined();
    expect(closestDistance([{ code: 1 }], new Error('x', { cause: { code: 1 } }))).toBeUndefined();
  });
});
