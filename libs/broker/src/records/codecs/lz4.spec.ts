import { lz4 } from './lz4.js';
import { lz4ByJava, text } from './reference-compressions.spec-support.js';
import { xxhash32 } from './xxhash32.js';

const LARGE = 8 * 1024 * 1024;
const INDEPENDENT = 0x60;
const DEPENDENT = 0x40;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const BLOCKS_OF_64_KIB = 0x40;
const END_MARK = [0, 0, 0, 0];

function frame(flags: number, rest: readonly number[], size: readonly number[] = []): Buffer {
  const descriptor = Buffer.from([flags, BLOCKS_OF_64_KIB, ...size]);
  const check = (xxhash32(descriptor, 0, descriptor.length) >>> 8) & 0xff;
  return Buffer.from([0x04, 0x22, 0x4d, 0x18, ...descriptor, check, ...rest]);
}

function word(value: number): number[] {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return [...bytes];
}

const block = (...bytes: readonly number[]): number[] => [...word(bytes.length), ...bytes];
const stored = (content: string): number[] => [
  ...word(content.length + 0x8000_0000),
  ...Buffer.from(content),
];
const checksumOf = (bytes: Buffer): number[] => word(xxhash32(bytes, 0, bytes.length));
const inflated = (bytes: Buffer): string => lz4.inflate(bytes, LARGE).toString();

/** A block that contains "abcd", then eight bytes from four back, then "e". */
const COPYING = [0x44, ...Buffer.from('abcd'), 4, 0, 0x10, 0x65];
/** A block that copies four bytes from four back, before its own start. */
const REACHING_BACK = [0x00, 4, 0, 0x10, 0x66];

describe('lz4', () => {
  it('reads what Java writes', () => {
    expect(inflated(lz4ByJava)).toBe(text);
  });

  it('writes the only kind of frame that Java reads', () => {
    const packed = lz4.compress(Buffer.from(text));
    expect(packed.subarray(0, 6)).toEqual(lz4ByJava.subarray(0, 6));
    expect(packed[6]).toBe(frame(INDEPENDENT, [])[6]);
    expect([...packed.subarray(-4)]).toEqual(END_MARK);
  });

  it('writes the last five bytes of a block as literals, as the format demands', () => {
    const packed = lz4.compress(Buffer.alloc(100, 'a'));
    expect([...packed.subarray(-10, -4)]).toEqual([0x50, ...Buffer.from('aaaaa')]);
  });

  it.each([
    ['compressed blocks', frame(INDEPENDENT, [...block(...COPYING), ...END_MARK]), 'abcdabcdabcde'],
    ['stored blocks', frame(INDEPENDENT, [...stored('as it is'), ...END_MARK]), 'as it is'],
    ['no block', frame(INDEPENDENT, END_MARK), ''],
    [
      'blocks that refer to earlier blocks',
      frame(DEPENDENT, [...stored('abcd'), ...block(...REACHING_BACK), ...END_MARK]),
      'abcdabcdf',
    ],
    [
      'its size',
      frame(INDEPENDENT | CONTENT_SIZE, [...stored('four'), ...END_MARK], [4, 0, 0, 0, 0, 0, 0, 0]),
      'four',
    ],
    [
      'checksums',
      frame(INDEPENDENT | BLOCK_CHECKSUM | CONTENT_CHECKSUM, [
        ...stored('checked'),
        ...checksumOf(Buffer.from('checked')),
        ...END_MARK,
        ...checksumOf(Buffer.from('checked')),
      ]),
      'checked',
    ],
  ])('reads a frame with %s', (_what, bytes, expected) => {
    expect(inflated(bytes)).toBe(expected);
  });

  it('reads concatenated frames', () => {
    expect(inflated(Buffer.concat([lz4ByJava, lz4ByJava]))).toBe(text + text);
  });

  it.each([
    ['has another magic number', Buffer.from([4, 0x22, 0x4d, 0x19, 0, 0, 0]), /magic number/],
    ['is of another version', frame(0xa0, END_MARK), /flags/],
    ['has a reserved flag', frame(INDEPENDENT | 0x02, END_MARK), /flags/],
    ['needs a dictionary', frame(INDEPENDENT | 0x01, END_MARK, [1, 0, 0, 0]), /dictionary/],
    ['has a wrong descriptor checksum', changed(frame(INDEPENDENT, END_MARK), 6), /descriptor/],
    ['has no end mark', frame(INDEPENDENT, stored('text')), /cut off/],
    ['has a block that is truncated', frame(INDEPENDENT, [...word(9), 0]), /cut off/],
    ['says that a block has 2 GiB', frame(INDEPENDENT, word(0x7fff_ffff)), /cut off/],
    [
      'claims another size',
      frame(INDEPENDENT | CONTENT_SIZE, [...stored('x'), ...END_MARK], Array<number>(8).fill(255)),
      /has 1 of them/,
    ],
    [
      'has a block with a wrong checksum',
      frame(INDEPENDENT | BLOCK_CHECKSUM, [...stored('x'), ...word(1), ...END_MARK]),
      /checksum of a block/,
    ],
    [
      'has content with a wrong checksum',
      frame(INDEPENDENT | CONTENT_CHECKSUM, [...stored('x'), ...END_MARK, ...word(1)]),
      /checksum of the content/,
    ],
    [
      'has an independent block that refers to another',
      frame(INDEPENDENT, [...stored('abcd'), ...block(...REACHING_BACK), ...END_MARK]),
      /before the first byte/,
    ],
    [
      'has a copy with distance 0',
      frame(INDEPENDENT, block(0x10, 97, 0, 0, 0)),
      /before the first/,
    ],
    ['ends within literals', frame(INDEPENDENT, block(0x50, 97)), /cut off/],
    ['ends within a length', frame(INDEPENDENT, block(0xf0, 255)), /cut off/],
    ['ends within a copy', frame(INDEPENDENT, block(0x10, 97, 1)), /cut off/],
    ['has an empty block', frame(INDEPENDENT, [...word(0x8000_0000)]), /cut off/],
    [
      'has a block that inflates beyond the size of blocks',
      frame(INDEPENDENT, [
        ...block(0x1f, 97, 1, 0, ...Array<number>(300).fill(255), 0, 0),
        ...END_MARK,
      ]),
      /more than its frame says/,
    ],
  ])('rejects a frame that %s', (_what, bytes, message) => {
    expect(() => inflated(bytes)).toThrow(message);
  });

  it('rejects output beyond the limit long before everything is inflated', () => {
    const bomb = frame(DEPENDENT, block(0x1f, 97, 1, 0, ...Array<number>(60_000).fill(255), 0, 0));
    expect(() => lz4.inflate(bomb, 100_000)).toThrow(/beyond 100000 bytes/);
  });
});

describe('xxhash32', () => {
  it.each([
    ['', 0x02cc5d05],
    ['a', 0x550d7456],
    ['abc', 0x32d153ff],
    ['Nobody inspects the spammish repetition', 0xe2293b2f],
  ])('returns the value of the specification for %j', (given, expected) => {
    const bytes = Buffer.from(`x${given}x`);
    expect(xxhash32(bytes, 1, bytes.length - 1)).toBe(expected);
  });
});

function changed(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}
