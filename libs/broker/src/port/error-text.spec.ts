import { inspect } from 'node:util';
import { ConnectionError } from './errors.js';
import { errorFramesOf, errorNameOf, errorReasonOf } from './error-text.js';

const SECRET = 'hunter2 of jane@example.org';
const named = (name: unknown): Error => Object.assign(new Error(SECRET), { name });
const hostile = (): Error =>
  new Proxy(new Error(SECRET), {
    get: () => {
      throw new Error(SECRET);
    },
    getPrototypeOf: () => {
      throw new Error(SECRET);
    },
  });

class OutOfStock extends Error {}

describe('errorNameOf()', () => {
  it.each([
    ['a class', new OutOfStock(SECRET), 'OutOfStock'],
    ['a name that the application gave', named('AbortError'), 'AbortError'],
    ['a name with a package', named('com.shop.Out$Of_Stock'), 'com.shop.Out$Of_Stock'],
    ['a name with letters of another language', named('Überlauf'), 'Überlauf'],
    ['an error of the platform', new DOMException(SECRET, 'TimeoutError'), 'TimeoutError'],
    ['a name of 128 characters', named('n'.repeat(128)), 'n'.repeat(128)],
  ])('returns the name of %s', (_, error, expected) => {
    expect(errorNameOf(error)).toBe(expected);
  });

  it.each([
    ['a sentence', SECRET],
    ['a line break', 'Bad\nERROR forged line'],
    ['a control character', 'Bad\u001b[2J'],
    ['a separator of lines', 'Bad\u2028line'],
    ['a quote', 'Bad"name'],
    ['129 characters', 'n'.repeat(129)],
    ['no character', ''],
    ['a number', 7],
    ['an object', { toString: () => SECRET }],
  ])('returns the class instead of a name with %s', (_, name) => {
    expect(errorNameOf(Object.assign(new OutOfStock(SECRET), { name }))).toBe('OutOfStock');
  });

  it.each([
    ['a text', SECRET],
    ['nothing', undefined],
    ['null', null],
    ['a proxy that throws', hostile()],
    ['an error without a class', Object.setPrototypeOf(new Error(SECRET), null)],
    ['a class whose name is a payload', new { [SECRET]: class extends Error {} }[SECRET]()],
  ])('returns Error for %s', (_, thrown) => {
    expect(errorNameOf(thrown)).toMatch(/^(Error|String)$/);
  });
});

describe('errorReasonOf()', () => {
  it.each([
    ['only the name', new TypeError(SECRET), 'TypeError'],
    [
      'the name and the code',
      Object.assign(new OutOfStock(SECRET), { code: 'ER_DUP_ENTRY' }),
      'OutOfStock ER_DUP_ENTRY',
    ],
    ['the SQLSTATE', Object.assign(new Error(SECRET), { code: '23505' }), 'Error 23505'],
    [
      'the system call that failed, and where',
      Object.assign(new Error(SECRET), {
        code: 'ECONNREFUSED',
        syscall: 'connect',
        address: '127.0.0.1',
        port: 9092,
      }),
      'connect ECONNREFUSED 127.0.0.1:9092',
    ],
    [
      'the name of a host that is unknown',
      Object.assign(new Error(SECRET), {
        code: 'ENOTFOUND',
        syscall: 'getaddrinfo',
        hostname: 'kafka-1',
      }),
      'getaddrinfo ENOTFOUND kafka-1',
    ],
    [
      'no property that is not what Node writes',
      Object.assign(new Error(SECRET), { code: 'ECONNRESET', syscall: SECRET, address: SECRET }),
      'Error ECONNRESET',
    ],
    [
      'no address that is a text',
      Object.assign(new Error(SECRET), { code: 'EPIPE', syscall: 'write', address: SECRET }),
      'write EPIPE',
    ],
    ['no code that is a text', Object.assign(new Error(SECRET), { code: SECRET }), 'Error'],
    ['nothing of a proxy that throws', hostile(), 'Error'],
  ])('says %s', (_, thrown, expected) => {
    expect(errorReasonOf(thrown)).toBe(expected);
  });
});

describe('errorFramesOf()', () => {
  it('returns where an error was thrown, without its message', () => {
    const error = new TypeError(`got\n    at ${SECRET}`);
    const frames = errorFramesOf(error);
    expect(frames[0]).toContain('error-text.spec');
    expect(frames.join()).not.toContain(SECRET);
  });

  it.each([undefined, SECRET, hostile()])(
    'returns nothing for a value without a stack',
    (thrown) => {
      expect(errorFramesOf(thrown)).toEqual([]);
    },
  );
});

describe('The cause of an error of a driver', () => {
  it('is readable, but not printed, if another library has thrown it', () => {
    const cause = new TypeError(SECRET);
    const error = new ConnectionError('It broke.', { cause });
    expect(error.cause).toBe(cause);
    expect(inspect(error)).not.toContain(SECRET);
    expect(JSON.stringify(error)).not.toContain(SECRET);
  });

  it('is printed if a driver has thrown it', () => {
    const cause = new ConnectionError('The broker is gone.');
    const error = new ConnectionError('It broke.', { cause });
    expect(inspect(error)).toContain('The broker is gone.');
  });

  it('is missing if there is none', () => {
    expect(Object.hasOwn(new ConnectionError('It broke.'), 'cause')).toBe(false);
  });
});
