import fc from 'fast-check';
import { HeaderNames } from './header-names.js';

describe('header names', () => {
  it('are what plain decoding gives, whatever was decoded before', () => {
    const names = new HeaderNames();
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (name) => {
        const bytes = Buffer.from(`<${name}>`);
        const expected = bytes.toString('utf8', 1, bytes.length - 1);
        expect(names.decode(bytes, 1, bytes.length - 1)).toBe(expected);
        expect(names.decode(bytes, 1, bytes.length - 1)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('bytes that are no UTF-8 are not mistaken for a name whose code points they are', () => {
    const names = new HeaderNames();
    // Both fall into one slot: else this would prove nothing.
    expect(names.decode(Buffer.from('\u00eca'), 0, 3)).toBe('\u00eca');
    expect(names.decode(Buffer.from([0xec, 0x61]), 0, 2)).toBe('\ufffda');
  });
});
