import fc from 'fast-check';
import { gzip } from './gzip.js';
import { lz4 } from './lz4.js';
import type { RecordCodec } from './record-codec.js';
import { snappy } from './snappy.js';
import { javascriptZstd, zstd } from './zstd.js';

const LARGE = 16 * 1024 * 1024;
const writable = [gzip, snappy, lz4, ...('compress' in zstd ? [zstd] : [])];
const codecs = writable.map((codec): [string, RecordCodec] => [codec.name, codec]);

const piece = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => Buffer.from(text)),
  fc.constant(Buffer.from('{"type":"OrderPlaced","customer":"')),
);
/** Repeated pieces, near and far, so that all kinds of copies are produced. */
const content = fc
  .tuple(
    fc.array(piece, { maxLength: 8 }),
    fc.array(fc.tuple(fc.nat(7), fc.nat(3_000)), { maxLength: 12 }),
  )
  .map(([pieces, order]) =>
    Buffer.concat(
      order.map(([which, times]) => {
        const chosen = Buffer.from(pieces[which] ?? [which]);
        return Buffer.concat(Array.from({ length: 1 + (times % 40) * (times % 37) }, () => chosen));
      }),
    ),
  );

describe.each(codecs)('%s compression', (_name, codec) => {
  it('round-trips any content', () => {
    fc.assert(
      fc.property(content, (bytes) => {
        expect(codec.inflate(codec.compress(bytes), LARGE).equals(bytes)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    0, 1, 3, 4, 11, 12, 13, 16, 17, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537, 131_073,
  ])('round-trips %i bytes', (length) => {
    for (const bytes of [noise(length), Buffer.alloc(length, 'abcdefg'), Buffer.alloc(length)]) {
      expect(codec.inflate(codec.compress(bytes), Math.max(length, 1)).equals(bytes)).toBe(true);
    }
  });

  it('round-trips any lengths of new and repeated bytes', () => {
    const fresh = noise(100_000);
    for (let length = 4; length < 600; length = length < 300 ? length + 1 : length + 29) {
      const again = [fresh.subarray(0, length), fresh.subarray(1_000, 1_000 + length)];
      const bytes = Buffer.concat([...again, ...again, fresh.subarray(2_000, 2_020)]);
      expect(codec.inflate(codec.compress(bytes), LARGE).equals(bytes)).toBe(true);
    }
  });

  it('shrinks repetitive content a lot, and hardly enlarges incompressible content', () => {
    expect(codec.compress(Buffer.alloc(100_000, '{"id":1}')).length).toBeLessThan(10_000);
    expect(codec.compress(noise(100_000)).length).toBeLessThan(100_300);
  });

  it('rejects a block that inflates beyond the limit', () => {
    for (const bytes of [Buffer.alloc(1_000_000), noise(100_000)]) {
      const packed = codec.compress(bytes);
      expect(() => codec.inflate(packed, bytes.length - 1)).toThrow();
      expect(codec.inflate(packed, bytes.length)).toHaveLength(bytes.length);
    }
  });

  it('keeps no reference to the compressed bytes', () => {
    const bytes = noise(50_000);
    const packed = codec.compress(bytes);
    const kept = Buffer.from(bytes);
    bytes.fill(0);
    expect(codec.inflate(packed, LARGE).equals(kept)).toBe(true);
  });
});

describe('truncated input', () => {
  const bytes = Buffer.from(
    JSON.stringify(Array.from({ length: 60 }, (_, id) => ({ id, id2: id }))),
  );

  it.each(codecs.filter(([name]) => name === 'snappy' || name === 'lz4'))(
    'is rejected: %s',
    (_name, codec) => {
      const packed = codec.compress(bytes);
      for (let length = 1; length < packed.length; length++) {
        // A header of snappy alone is an empty stream, in Java too.
        if (codec === snappy && length === 16) continue;
        expect(() => codec.inflate(packed.subarray(0, length), LARGE)).toThrow();
      }
    },
  );
});

('compress' in zstd ? describe : describe.skip)('native zstd and the JavaScript decoder', () => {
  it('the JavaScript decoder reads what native zstd writes, for any content', () => {
    if (!('compress' in zstd)) throw new Error('Node.js has no native zstd.');
    const native = zstd;
    fc.assert(
      fc.property(content, (bytes) => {
        expect(javascriptZstd.inflate(native.compress(bytes), LARGE).equals(bytes)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

/** Returns bytes without repetitions, the same ones each time. */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
