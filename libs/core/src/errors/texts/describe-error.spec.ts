import { resolvedOrders } from '../../config/configuration.spec-support.js';
import type { ErrorRedaction } from '../../model/extension-points/error-redaction.js';
import { describeError, TEXT_LIMITS } from './describe-error.js';

const full = { exceptionDetail: 'full' } as const;
const redacting = (redact: unknown) => ({ ...full, redact: redact as ErrorRedaction });

class OutOfStock extends Error {}
class Named extends Error {
  override readonly name = 'SOLD_OUT';
}

const bytes = (text: string | undefined): number => Buffer.byteLength(text ?? '');

describe('describeError()', () => {
  it('returns the class, the message, the stack and the class of the cause', () => {
    const error = new OutOfStock('item 7', { cause: new TypeError('secret') });
    const description = describeError(error, full);
    expect(description).toEqual({
      className: 'OutOfStock',
      causeClassName: 'TypeError',
      message: 'item 7',
      stack: error.stack,
    });
    expect(JSON.stringify(description)).not.toContain('secret');
  });

  it.each([
    ['its own name', new Named('x'), 'SOLD_OUT'],
    [
      'the name that the application gave it',
      Object.assign(new Error('x'), { name: 'AbortError' }),
      'AbortError',
    ],
    ['the name of its class', new OutOfStock('x'), 'OutOfStock'],
    [
      'the name of its own class, not of the superclass',
      new (class Sub extends TypeError {})('x'),
      'Sub',
    ],
    ['the name of a built-in class', new RangeError('x'), 'RangeError'],
    ['the result of a getter', new DOMException('x', 'TimeoutError'), 'TimeoutError'],
    ['Error, for an anonymous class', new (class extends Error {})('x'), 'Error'],
    ['Error, for a name that is no text', Object.assign(new Error('x'), { name: 7 }), 'Error'],
  ])('returns as className %s', (_, error, expected) => {
    expect(describeError(error, full).className).toBe(expected);
  });

  it.each(['message', 'stack'] as const)(
    'limits the %s in bytes, and never cuts a character in two',
    (part) => {
      const limit = TEXT_LIMITS[part];
      for (const [text, expected] of [
        ['x'.repeat(limit), limit],
        ['x'.repeat(limit + 1), limit],
        ['x'.repeat(limit - 1) + '😀', limit - 1],
        ['x'.repeat(limit - 4) + '😀', limit],
        ['x'.repeat(limit - 1) + '\ud83d', limit - 1],
        ['\ud83d'.repeat(limit), Math.floor(limit / 3) * 3],
      ] as const) {
        const error = Object.assign(new Error(), { [part]: text });
        expect(bytes(describeError(error, full)[part])).toBe(expected);
      }
    },
  );

  it('limits the class to 256 bytes, the message to 1024 and the stack to 2048', () => {
    expect(TEXT_LIMITS).toEqual({ className: 256, message: 1024, stack: 2048 });
    const lengthOf = (name: string): number =>
      bytes(describeError(Object.assign(new Error(), { name }), full).className);
    expect(lengthOf('é'.repeat(128))).toBe(256);
    expect(lengthOf('名'.repeat(128))).toBe(255);
  });

  it('describes even an error without properties, or with getters that throw', () => {
    const empty = Object.assign(new Error(), { message: undefined, stack: 7 }) as Error;
    expect(describeError(empty, full)).toEqual({ className: 'Error', message: '' });
    const hostile = new Proxy(new Error('x'), {
      get: () => {
        throw new Error('no');
      },
      getPrototypeOf: () => {
        throw new Error('no');
      },
    });
    expect(describeError(hostile, full)).toEqual({ className: 'Error', message: '' });
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    expect(describeError(new Error('y', { cause: proxy }), full)).toMatchObject({ message: 'y' });
  });
});

describe('dlt.exceptionDetail', () => {
  const error = new OutOfStock('for jane@example.org');

  it("is 'full' by default", () => {
    expect(resolvedOrders().dlt.exceptionDetail).toBe('full');
  });

  it("keeps only the class with 'class', and does not call dlt.redact", () => {
    const redact = jest.fn();
    const description = describeError(error, { exceptionDetail: 'class', redact });
    expect(description).toEqual({ className: 'OutOfStock' });
    expect(redact).not.toHaveBeenCalled();
  });
});

describe('dlt.redact', () => {
  const error = new OutOfStock('for jane@example.org');

  it('is undefined by default, and the given function is used', () => {
    const redact: ErrorRedaction = ({ message }) => ({ message });
    expect(resolvedOrders({ dlt: { redact } }).dlt.redact).toBe(redact);
    expect(resolvedOrders().dlt.redact).toBeUndefined();
  });

  it('returns the message that is written', () => {
    const redact = ({ message }: Error) => ({ message: message.replace(/\S+@\S+/, '***') });
    const description = describeError(error, redacting(redact));
    expect(description).toEqual({ className: 'OutOfStock', message: 'for ***' });
  });

  it('may return a stack, which has the same limits', () => {
    const long = 'é'.repeat(3_000);
    const description = describeError(
      error,
      redacting(() => ({ message: long, stack: long })),
    );
    expect([bytes(description.message), bytes(description.stack)]).toEqual([1024, 2048]);
  });

  it.each([
    [
      'throws',
      () => {
        throw error;
      },
    ],
    ['returns undefined', () => undefined],
    ['returns null', () => null],
    ['gives a text', () => 'for ***'],
    ['returns no message', () => ({ stack: 'x' })],
    ['returns a message that is no text', () => ({ message: 7 })],
    ['returns a stack that is no text', () => ({ message: 'x', stack: 7 })],
    ['returns a promise', () => Promise.resolve({ message: 'x' })],
    ['returns a promise that rejects', () => Promise.reject(error)],
    [
      'returns an object whose getters throw',
      () => ({
        get message(): string {
          throw error;
        },
      }),
    ],
  ])('leads to a description with only the class if it %s', (_, redact) => {
    const description = describeError(error, redacting(redact));
    expect(description).toEqual({ className: 'OutOfStock', isRedactionBroken: true });
  });
});
