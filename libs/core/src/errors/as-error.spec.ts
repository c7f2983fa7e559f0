import { asError } from './as-error.js';

const hostile = new Proxy(
  {},
  {
    getPrototypeOf: () => {
      throw new Error('do not ask');
    },
  },
);

describe('asError()', () => {
  it('returns an Error as it is', () => {
    const error = new TypeError('no');
    expect(asError(error)).toBe(error);
  });

  it.each([
    ['a text', 'no', 'no'],
    ['nothing', undefined, 'undefined'],
    ['a symbol', Symbol('no'), 'Symbol(no)'],
    ['an object without a text of its own', Object.create(null), 'something that cannot be shown'],
    ['a proxy that throws whatever it is asked', hostile, 'something that cannot be shown'],
  ])('describes %s', (_, thrown, shown) => {
    const error = asError(thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe(`Something was thrown that is not an Error: ${shown}.`);
  });
});
