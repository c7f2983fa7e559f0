import { MalformedBytesError } from '../malformed-bytes-error.js';
import {
  fewLetters,
  text,
  varied,
  zstdMaxLevel,
  zstdByJava,
  zstdFewLetters,
  zstdShortText,
} from './reference-compressions.spec-support.js';
import { javascriptZstd, zstdOf, type NativeZstd } from './zstd.js';

const LARGE = 8 * 1024 * 1024;
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A frame header with a window of 1 MiB and without content size. */
const HEADER = [0x00, 10 << 3];
const AS_IT_IS = 0;
const ALL_THE_SAME = 1;
const PACKED = 2;

const inflated = (bytes: Uint8Array): string => javascriptZstd.inflate(bytes, LARGE).toString();

function frame(...rest: readonly number[]): Buffer {
  return Buffer.from([...MAGIC, ...rest]);
}

function block(kind: number, size: number, content: readonly number[], isLast = true): number[] {
  const header = (size << 3) | (kind << 1) | (isLast ? 1 : 0);
  return [header & 0xff, (header >>> 8) & 0xff, header >>> 16, ...content];
}

const stored = (content: string, isLast = true): number[] =>
  block(AS_IT_IS, content.length, [...Buffer.from(content)], isLast);
const packed = (...content: readonly number[]): number[] => block(PACKED, content.length, content);
const refused = (bytes: Uint8Array, message: RegExp): void =>
  expect(() => inflated(bytes)).toThrow(message);

describe('javascriptZstd', () => {
  it('reads what Java writes', () => {
    expect(inflated(zstdByJava)).toBe(text);
  });

  it('reads frames that use most features of zstd', () => {
    expect(inflated(zstdMaxLevel)).toBe(varied);
    expect(javascriptZstd.inflate(zstdFewLetters, LARGE)).toEqual(fewLetters);
    expect(inflated(zstdShortText)).toBe(text.slice(0, 500));
  });

  it('returns bytes or throws a typed error, whichever bit is flipped', () => {
    for (let bit = 0; bit < zstdByJava.length * 8; bit += 5) {
      const bytes = Buffer.from(zstdByJava);
      bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
      try {
        // Some errors remain undetected, because literals and distances have no redundancy. The CRC
        // of the batch detects them.
        expect(javascriptZstd.inflate(bytes, LARGE).length).toBeLessThanOrEqual(LARGE);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedBytesError);
      }
    }
  });

  it.each([
    ['a stored block', frame(...HEADER, ...stored('as it is')), 'as it is'],
    ['a block of one byte', frame(...HEADER, ...block(ALL_THE_SAME, 5, [97])), 'aaaaa'],
    ['several blocks', frame(...HEADER, ...stored('ab', false), ...stored('cd')), 'abcd'],
    ['an empty block', frame(...HEADER, ...stored('')), ''],
    ['its size in one byte', frame(0x20, 2, ...stored('ab')), 'ab'],
    [
      'its size in two bytes',
      frame(0x60, 1, 0, ...block(ALL_THE_SAME, 257, [97])),
      'a'.repeat(257),
    ],
    ['its size in four bytes', frame(0xa0, 2, 0, 0, 0, ...stored('ab')), 'ab'],
    ['its size in eight bytes', frame(0xe0, 2, 0, 0, 0, 0, 0, 0, 0, ...stored('ab')), 'ab'],
    ['a checksum', frame(0x04, 80, ...stored('ab'), 1, 2, 3, 4), 'ab'],
    ['dictionary id 0', frame(0x01, 80, 0, ...stored('ab')), 'ab'],
    ['literals only', frame(...HEADER, ...packed(2 << 3, 97, 98, 0)), 'ab'],
    ['one literal many times', frame(...HEADER, ...packed((3 << 3) | 1, 97, 0)), 'aaa'],
  ])('reads a frame with %s', (_what, bytes, expected) => {
    expect(inflated(bytes)).toBe(expected);
  });

  it('reads concatenated frames, with skippable frames between them', () => {
    const skipped = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    expect(inflated(Buffer.concat([zstdByJava, skipped, zstdByJava]))).toBe(text + text);
  });

  it.each([
    ['has another magic number', Buffer.from([0x28, 0xb5, 0x2f, 0xfe, 0, 80]), /magic number/],
    ['has a reserved bit', frame(0x08, 80), /reserved bit/],
    ['needs a dictionary', frame(0x01, 80, 7, ...stored('ab')), /dictionary/],
    ['claims 16 EiB', frame(0xe0, ...Array<number>(8).fill(255)), /its frame claims/],
    ['claims more than it has', frame(0x20, 3, ...stored('ab')), /claims 3 bytes has 2/],
    ['claims less than it has', frame(0x20, 1, ...stored('ab')), /longer than its frame allows/],
    ['has a block of a reserved kind', frame(...HEADER, ...block(3, 0, [])), /reserved kind/],
    ['has a block beyond 128 KiB', frame(...HEADER, ...block(1, 131_073, [0])), /longer than/],
    ['has no last block', frame(...HEADER, ...stored('ab', false)), /cut off/],
    ['has a block that is truncated', frame(...HEADER, ...block(AS_IT_IS, 9, [1])), /cut off/],
    ['has a checksum that is truncated', frame(0x04, 80, ...stored('ab'), 1), /cut off/],
    ['is skippable and truncated', Buffer.from([0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0]), /cut off/],
    ['has literals that are truncated', frame(...HEADER, ...packed(9 << 3, 97)), /cut off/],
    ['has no sequences section', frame(...HEADER, ...packed(1 << 3, 97)), /cut off/],
    [
      'refers to an undefined tree',
      frame(...HEADER, ...packed(0x13, 0x40, 0, 1, 0)),
      /not defined/,
    ],
    ['refers to an undefined table', frame(...HEADER, ...packed(8, 97, 1, 0xfc, 1)), /not defined/],
    ['has reserved bits', frame(...HEADER, ...packed(8, 97, 1, 1, 1)), /reserved bits/],
    ['has no end mark of its bits', frame(...HEADER, ...packed(8, 97, 1, 0, 0)), /no end mark/],
    ['has an unknown symbol', frame(...HEADER, ...packed(8, 97, 1, 0x40, 36, 1)), /symbol 36/],
    [
      'copies from before its start',
      frame(...HEADER, ...packed(8, 97, 1, 0x54, 1, 3, 0, 0b1_111)),
      /before the first byte/,
    ],
  ])('rejects a frame that %s', (_what, bytes, message) => {
    refused(bytes, message);
  });

  it('rejects leftover bits', () => {
    const oneTooMany = packed(8, 97, 1, 0x54, 1, 2, 0, 0b10_00);
    refused(frame(...HEADER, ...oneTooMany), /sequences have a wrong length/);
  });

  it('rejects a claimed size beyond the limit before inflating anything', () => {
    refused(frame(0xa0, 1, 0, 0x80, 0, ...block(3, 0, [])), /its frame claims 8388609 bytes/);
  });

  it('reads Huffman-coded literals and uses exactly their bits', () => {
    // A tree of two symbols with one bit each, then two literals.
    const codes = (stream: number) =>
      frame(...HEADER, ...packed(0x22, 0xc0, 0, 128, 0x10, stream, 0));
    expect(inflated(codes(0b1_01))).toBe('\x00\x01');
    for (const wrong of [0b1_0, 0b1_011])
      refused(codes(wrong), /Huffman stream has a wrong length/);
  });

  it('copies earlier output', () => {
    // One literal, then three bytes from one back: codes 1 (literals), 2 with 0b00 (offset 4 - 3),
    // 0 (match).
    const oneBack = packed(8, 97, 1, 0x54, 1, 2, 0, 0b1_00);
    expect(inflated(frame(...HEADER, ...oneBack))).toBe('aaaa');
  });

  it('rejects input that is truncated at any position', () => {
    for (let length = 1; length < zstdByJava.length; length++) {
      expect(() => javascriptZstd.inflate(zstdByJava.subarray(0, length), LARGE)).toThrow();
    }
  });

  it('rejects output beyond the limit', () => {
    const piece = block(ALL_THE_SAME, 131_072, [0], false);
    const bomb = frame(...HEADER, ...Array.from({ length: 1_000 }, () => piece).flat());
    expect(() => javascriptZstd.inflate(bomb, 1_000_000)).toThrow(/beyond 1000000 bytes/);
  });
});

describe('zstdOf', () => {
  const native: NativeZstd = {
    zstdCompressSync: (bytes) => Buffer.from(`packed ${bytes.length}`),
    zstdDecompressSync: (bytes, { maxOutputLength }) =>
      Buffer.from(`up to ${maxOutputLength} of ${bytes.length}`),
  };

  it('uses the native zstd of Node.js if it exists', () => {
    const codec = zstdOf(native);
    if (!('compress' in codec)) throw new Error('It cannot write.');
    expect(codec.compress(Buffer.alloc(3)).toString()).toBe('packed 3');
    expect(codec.inflate(Buffer.alloc(3), 99).toString()).toBe('up to 99 of 3');
  });

  it('reads with the JavaScript decoder and does not write if native zstd is missing', () => {
    expect(zstdOf({})).toBe(javascriptZstd);
    expect('compress' in javascriptZstd).toBe(false);
  });
});
