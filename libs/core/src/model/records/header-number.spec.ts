import fc from 'fast-check';
import { headerCount, headerInteger } from './header-number.js';

const integer = (...values: readonly (Buffer | null)[]) =>
  headerInteger(
    values.map((value) => ({ key: 'n', value })),
    'n',
  );
const of = (text: string) => integer(Buffer.from(text));

describe('A number in a header', () => {
  it.each([
    ['0', 0n],
    ['-1', -1n],
    ['9223372036854775807', 9_223_372_036_854_775_807n],
    ['-9223372036854775808', -9_223_372_036_854_775_808n],
    // Eight digits are as long as a long, four as an int.
    ['12345678', 12_345_678n],
    ['1234', 1234n],
  ])('is read from decimal text: %s', (text, value) => {
    expect(of(text)).toBe(value);
  });

  it.each(['', ' 1', '1.5', '1e3', '0x10', '9223372036854775808', 'oops', 'overflow', '٣'])(
    'is not read from %p',
    (text) => {
      expect(of(text)).toBeUndefined();
    },
  );

  it('is undefined without a header, and for a header without a value', () => {
    expect(integer()).toBeUndefined();
    expect(integer(null)).toBeUndefined();
  });

  it('is read from the last of several headers', () => {
    expect(integer(Buffer.from('1'), Buffer.from('2'))).toBe(2n);
  });

  it('is read from four or eight big-endian bytes, and from no other length', () => {
    expect(integer(Buffer.from([0, 0, 1, 2]))).toBe(258n);
    expect(integer(Buffer.from([255, 255, 255, 255]))).toBe(-1n);
    expect(integer(Buffer.from([0, 0, 0, 0, 0, 0, 1, 2]))).toBe(258n);
    expect(integer(Buffer.from([0, 1, 2]))).toBeUndefined();
  });

  it('survives the round trip, as text and as bytes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 60n - 1n }), (value) => {
        const bytes = Buffer.alloc(8);
        bytes.writeBigInt64BE(value);
        expect(of(String(value))).toBe(value);
        // Printable bytes as a number are larger than any offset or time.
        if (value < 0x2020202020202020n) expect(integer(bytes)).toBe(value);
      }),
    );
  });

  it('is a count only from zero up to 2^53', () => {
    const count = (text: string) => headerCount([{ key: 'n', value: Buffer.from(text) }], 'n');
    expect(count('0')).toBe(0);
    expect(count('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    expect(count('9007199254740992')).toBeUndefined();
    expect(count('-1')).toBeUndefined();
    expect(count('many')).toBeUndefined();
  });
});
