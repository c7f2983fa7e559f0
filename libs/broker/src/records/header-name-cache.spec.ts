import fc from 'fast-check';
import { HeaderNameCache } from './header-name-cache.js';

describe('HeaderNameCache', () => {
  it('returns the same name as plain decoding, whatever was decoded before', () => {
    const names = new HeaderNameCache();
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

  it('distinguishes invalid UTF-8 from a name with the same code points', () => {
    const names = new HeaderNameCache();
    // Asserts that both names use the same slot. Otherwise this test would prove nothing.
    expect(names.decode(Buffer.from('\u00eca'), 0, 3)).toBe('\u00eca');
    expect(names.decode(Buffer.from([0xec, 0x61]), 0, 2)).toBe('\ufffda');
  });
});
