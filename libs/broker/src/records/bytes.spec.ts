import fc from 'fast-check';
import {
  readSafeInt64,
  sizeOfVarint,
  sizeOfVarlong,
  VarintCursor,
  writeSafeInt64,
  writeVarint,
  writeVarlong,
} from './bytes.js';
import { MalformedBytesError } from './malformed-bytes-error.js';

const safeInteger = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer(),
  fc
    .record({ bits: fc.nat(53), sign: fc.constantFrom(1, -1), by: fc.integer({ min: -2, max: 2 }) })
    .map(({ bits, sign, by }) => sign * 2 ** bits + by)
    .filter(Number.isSafeInteger),
);

/** Encodes by the definition of the format, with 64-bit arithmetic and no shortcut. */
function zigzagBytes(value: number): number[] {
  const wide = BigInt(value);
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
  const bytes: number[] = [];
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

function written(write: typeof writeVarlong, value: number): number[] {
  const bytes = Buffer.alloc(16);
  return [...bytes.subarray(0, write(bytes, 0, value))];
}

function cursorOver(...bytes: number[]): VarintCursor {
  return new VarintCursor(Buffer.from(bytes), 0, bytes.length);
}

describe('varints', () => {
  it.each([
    [0, [0x00]],
    [-1, [0x01]],
    [1, [0x02]],
    [63, [0x7e]],
    [-64, [0x7f]],
    [64, [0x80, 0x01]],
    [-65, [0x81, 0x01]],
    [8191, [0xfe, 0x7f]],
    [8192, [0x80, 0x80, 0x01]],
    [2 ** 31 - 1, [0xfe, 0xff, 0xff, 0xff, 0x0f]],
    [-(2 ** 31), [0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('encodes and decodes %d as Kafka does', (value, bytes) => {
    expect(written(writeVarint, value)).toEqual(bytes);
    expect(written(writeVarlong, value)).toEqual(bytes);
    expect(cursorOver(...bytes).varint()).toBe(value);
    expect(cursorOver(...bytes).varlong()).toBe(value);
  });

  it('round-trips every int32 in the bytes of the definition', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const bytes = zigzagBytes(value);
        expect(written(writeVarint, value)).toEqual(bytes);
        expect(sizeOfVarint(value)).toBe(bytes.length);
        const cursor = cursorOver(...bytes, 0x55);
        expect(cursor.varint()).toBe(value);
        expect(cursor.position).toBe(bytes.length);
      }),
    );
  });

  it('round-trips every safe integer exactly, in the bytes of the definition', () => {
    fc.assert(
      fc.property(safeInteger, (value) => {
        const bytes = zigzagBytes(value);
        expect(written(writeVarlong, value)).toEqual(bytes);
        expect(sizeOfVarlong(value)).toBe(bytes.length);
        const cursor = cursorOver(...bytes, 0x55);
        expect(cursor.varlong()).toBe(value);
        expect(cursor.position).toBe(bytes.length);
      }),
      { numRuns: 1000 },
    );
  });

  it('rejects numbers beyond 2^53 - 1 instead of rounding', () => {
    for (const value of [2 ** 53, -(2 ** 53), 2 ** 60, -(2 ** 62)]) {
      expect(() => cursorOver(...zigzagBytes(value)).varlong()).toThrow(MalformedBytesError);
    }
    expect(() => cursorOver(...zigzagBytes(2 ** 31)).varint()).toThrow(MalformedBytesError);
    expect(() => cursorOver(...new Array<number>(11).fill(0x80)).varlong()).toThrow(
      MalformedBytesError,
    );
  });

  it('never reads beyond the limit, and a failed read does not move the position', () => {
    const bytes = Buffer.from([0x80, 0x80, 0x01]);
    for (const limit of [0, 1, 2]) {
      const cursor = new VarintCursor(bytes, 0, limit);
      expect(() => cursor.varint()).toThrow(MalformedBytesError);
      expect(() => cursor.varlong()).toThrow(MalformedBytesError);
      expect(cursor.position).toBe(0);
    }
  });
});

describe('readSafeInt64 and writeSafeInt64', () => {
  it('round-trip every safe integer in the bytes of a BigInt', () => {
    fc.assert(
      fc.property(safeInteger, (value) => {
        const bytes = Buffer.alloc(8);
        writeSafeInt64(bytes, 0, value);
        expect(bytes.readBigInt64BE()).toBe(BigInt(value));
        expect(readSafeInt64(bytes, 0)).toBe(value);
      }),
    );
  });

  it.each([2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)])(
    'reject %d',
    (value) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(value);
      expect(() => readSafeInt64(bytes, 0)).toThrow(MalformedBytesError);
      expect(() => readSafeInt64(bytes, 0)).toThrow(String(value));
    },
  );
});
