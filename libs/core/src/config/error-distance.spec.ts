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
});
