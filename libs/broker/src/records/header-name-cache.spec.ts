import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { HeaderNameCache } from './header-name-cache.js';

const VALUE = Buffer.from('v');

describe('HeaderNameCache', () => {
  it('returns the same name as plain decoding, whatever was decoded before', () => {
    const names = new HeaderNameCache();
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (name) => {
        const bytes = Buffer.from(`<${name}>`);
        const expected = { key: bytes.toString('utf8', 1, bytes.length - 1), value: VALUE };
        expect(names.headerOf(bytes, 1, bytes.length - 1, VALUE)).toStrictEqual(expected);
        expect(names.headerOf(bytes, 1, bytes.length - 1, VALUE)).toStrictEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps the bytes of a name that is not UTF-8, and of no other', () => {
    const names = new HeaderNameCache();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (name) => {
        const bytes = Buffer.from(name);
        const { key, keyBytes } = names.headerOf(bytes, 0, bytes.length, null);
        expect(keyBytes).toEqual(isUtf8(bytes) ? undefined : bytes);
        expect(keyBytes ?? Buffer.from(key)).toEqual(bytes);
      }),
    );
  });

  it('distinguishes invalid UTF-8 from a name with the same code points', () => {
    const names = new HeaderNameCache();
    // Asserts that both names use the same slot. Otherwise this test would prove nothing.
    expect(names.headerOf(Buffer.from('\u00eca'), 0, 3, null).key).toBe('\u00eca');
    expect(names.headerOf(Buffer.from([0xec, 0x61]), 0, 2, null)).toEqual({
      key: '\ufffda',
      keyBytes: Buffer.from([0xec, 0x61]),
      value: null,
    });
  });
});
