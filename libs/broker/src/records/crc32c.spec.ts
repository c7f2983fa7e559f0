import fc from 'fast-check';
import { crc32c } from './crc32c.js';

/** Computes one bit at a time, directly from the polynomial. */
function slowCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32c', () => {
  it.each([
    ['nothing', Buffer.alloc(0), 0],
    ['"123456789"', Buffer.from('123456789'), 0xe3069283],
    ['32 zeros (RFC 3720)', Buffer.alloc(32), 0x8a9136aa],
    ['32 times ff (RFC 3720)', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['0 up to 31 (RFC 3720)', Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
  ])('matches the known value of %s', (_name, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  it('returns the value of the definition for data of any length and any start value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(40), fc.nat(40), (bytes, from, cut) => {
        const start = Math.min(from, bytes.length);
        const end = Math.max(start, bytes.length - cut);
        expect(crc32c(bytes, start, end)).toBe(slowCrc32c(bytes.subarray(start, end)));
      }),
    );
  });
});
