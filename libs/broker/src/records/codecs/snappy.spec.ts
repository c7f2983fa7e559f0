import { snappyByJava, text } from './reference-compressions.spec-support.js';
import { snappy } from './snappy.js';

const LARGE = 1024 * 1024;
const HEADER = snappyByJava.subarray(0, 16);

function framed(...blocks: readonly (readonly number[])[]): Buffer {
  return Buffer.concat([HEADER, ...blocks.map((block) => lengthBefore(Buffer.from(block)))]);
}

function lengthBefore(block: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(block.length);
  return Buffer.concat([length, block]);
}

function inflated(...bytes: readonly number[]): string {
  return snappy.inflate(Buffer.from(bytes), LARGE).toString();
}

describe('snappy', () => {
  it('reads what Java writes', () => {
    expect(snappy.inflate(snappyByJava, LARGE).toString()).toBe(text);
  });

  it("writes Java's header and blocks that Java accepts", () => {
    const packed = snappy.compress(Buffer.alloc(40_000, 'x'));
    expect(packed.subarray(0, 16)).toEqual(HEADER);
    const first = packed.readInt32BE(16);
    expect(packed.readInt32BE(20 + first) + 24 + first).toBe(packed.length);
  });

  it('reads what librdkafka writes: one block without a header', () => {
    expect(inflated(5, 4 << 2, ...Buffer.from('hello'))).toBe('hello');
    expect(snappy.inflate(Buffer.from(snappyByJava).subarray(20), LARGE).toString()).toBe(text);
  });

  it('reads concatenated streams', () => {
    const twice = Buffer.concat([snappyByJava, snappyByJava]);
    expect(snappy.inflate(twice, LARGE).toString()).toBe(text + text);
  });

  it.each([
    [
      'a literal with its length in one byte',
      [61, 60 << 2, 60, ...Buffer.alloc(61, 'l')],
      'l'.repeat(61),
    ],
    ['a literal with its length in four bytes', [2, 63 << 2, 1, 0, 0, 0, 97, 98], 'ab'],
    ['a near copy', [6, 1 << 2, 97, 98, 0b0000_0001, 2], 'ababab'],
    ['a far copy', [5, 1 << 2, 97, 98, (2 << 2) | 2, 2, 0], 'ababa'],
    ['a farther copy', [5, 1 << 2, 97, 98, (2 << 2) | 3, 2, 0, 0, 0], 'ababa'],
    ['nothing', [0], ''],
  ])('reads %s', (_what, bytes, expected) => {
    expect(inflated(...bytes)).toBe(expected);
  });

  it.each([
    ['claims far more bytes than it can contain', [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 97], /claims/],
    ['claims more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x1f, 0, 97], /32 bits/],
    ['claims more bytes than it has', [3, 1 << 2, 97, 98], /claims 3 bytes has 2/],
    ['has more than it claims', [1, 1 << 2, 97, 98], /more bytes than it claims/],
    ['copies from before its start', [6, 0, 97, 0b0000_0101, 2], /before the first byte/],
    ['copies with distance 0', [5, 0, 97, 0b0000_0001, 0], /before the first byte/],
    ['ends within a literal', [9, 8 << 2, 97], /cut off/],
    ['ends within a copy', [5, 0, 97, 2], /cut off/],
    ['ends within its size', [0x80], /cut off/],
  ])('rejects a block that %s', (_what, bytes, message) => {
    expect(() => inflated(...bytes)).toThrow(message);
    expect(() => snappy.inflate(framed(bytes), LARGE)).toThrow(message);
  });

  it('rejects a block that copies from the previous block', () => {
    const first = [4, 3 << 2, ...Buffer.from('abcd')];
    expect(() => snappy.inflate(framed(first, [4, 0b0000_0001, 4]), LARGE)).toThrow(/before the/);
    expect(snappy.inflate(framed(first, first), LARGE).toString()).toBe('abcdabcd');
  });

  it.each([-1, 0x7fff_ffff])('rejects a block with a claimed size of %i bytes', (length) => {
    const bytes = framed([0]);
    bytes.writeInt32BE(length, 16);
    expect(() => snappy.inflate(bytes, LARGE)).toThrow(/incomplete/);
  });
});
