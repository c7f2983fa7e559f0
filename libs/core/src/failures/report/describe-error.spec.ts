import { resolvedOrders } from '../../config/configuration.spec-support.js';
import type { ErrorRedaction } from '../../config/properties/dlt-properties.js';
import { describeError, TEXT_LIMITS } from './describe-error.js';

const full = { exceptionDetail: 'full' } as const;
const redacting = (redact: unknown) => ({ ...full, redact: redact as ErrorRedaction });

class OutOfStock extends Error {}
class Named extends Error {
  override readonly name = 'SOLD_OUT';
}

const bytes = (text: string | undefined): number => Buffer.byteLength(text ?? '');

describe('what is told of an exception', () => {
  it('is its class, its message, its stack, and the class of its cause', () => {
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
      'the name that somebody gave it',
      Object.assign(new Error('x'), { name: 'AbortError' }),
      'AbortError',
    ],
    ['the name of its class', new OutOfStock('x'), 'OutOfStock'],
    [
      'the name of its class, not of the one above',
      new (class Sub extends TypeError {})('x'),
      'Sub',
    ],
    ['that of a built-in', new RangeError('x'), 'RangeError'],
    ['what a getter says', new DOMException('x', 'TimeoutError'), 'TimeoutError'],
    ['Error where there is none', new (class extends Error {})('x'), 'Error'],
    ['Error where the name is none', Object.assign(new Error('x'), { name: 7 }), 'Error'],
  ])('by the name of %s', (_, error, expected) => {
    expect(describeError(error, full).className).toBe(expected);
  });

  it.each(['message', 'stack'] as const)(
    'has %s of so many bytes, and no character in two',
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

  it('has limits as they were specified', () => {
    expect(TEXT_LIMITS).toEqual({ className: 256, message: 1024, stack: 2048 });
    const error = Object.assign(new Error(), { name: 'é'.repeat(200) });
    expect(bytes(describeError(error, full).className)).toBe(256);
  });

  it('is something even of an error that has nothing, or throws when it is asked', () => {
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

  it("tells with 'class' nothing but the class, and redacts nothing", () => {
    const redact = jest.fn();
    const told = describeError(error, { exceptionDetail: 'class', redact });
    expect(told).toEqual({ className: 'OutOfStock' });
    expect(redact).not.toHaveBeenCalled();
  });
});

describe('dlt.redact', () => {
  const error = new OutOfStock('for jane@example.org');

  it('is taken as it is, and by default there is none', () => {
    const redact: ErrorRedaction = ({ message }) => ({ message });
    expect(resolvedOrders({ dlt: { redact } }).dlt.redact).toBe(redact);
    expect(resolvedOrders().dlt.redact).toBeUndefined();
  });

  it('says what is told', () => {
    const redact = ({ message }: Error) => ({ message: message.replace(/\S+@\S+/, '***') });
    const told = describeError(error, redacting(redact));
    expect(told).toEqual({ className: 'OutOfStock', message: 'for ***' });
  });

  it('may tell a stack; its words have the same limits', () => {
    const long = 'é'.repeat(3_000);
    const told = describeError(
      error,
      redacting(() => ({ message: long, stack: long })),
    );
    expect([bytes(told.message), bytes(told.stack)]).toEqual([1024, 2048]);
  });

  it.each([
    [
      'throws',
      () => {
        throw error;
      },
    ],
    ['gives nothing', () => undefined],
    ['gives null', () => null],
    ['gives a text', () => 'for ***'],
    ['gives no message', () => ({ stack: 'x' })],
    ['gives a message that is none', () => ({ message: 7 })],
    ['gives a stack that is none', () => ({ message: 'x', stack: 7 })],
    ['gives a promise', () => Promise.resolve({ message: 'x' })],
    ['gives a promise that rejects', () => Promise.reject(error)],
    [
      'gives what throws',
      () => ({
        get message(): string {
          throw error;
        },
      }),
    ],
  ])('that %s tells the class only', (_, redact) => {
    const told = describeError(error, redacting(redact));
    expect(told).toEqual({ className: 'OutOfStock', isRedactionBroken: true });
  });
});
