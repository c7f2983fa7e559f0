import type { AvroPackage, AvroType } from './avro-package.js';

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Creates a `long` type that reads numbers as long as they are exact, and a bigint beyond 2^53. It
 * writes both. The `long` of avsc throws beyond 2^53, which would make a good record a bad one.
 */
export function createLongType({ types }: AvroPackage): AvroType {
  // oxlint-disable-next-line no-underscore-dangle -- avsc calls it so
  return types.LongType.__with({
    fromBuffer: (bytes: Buffer) => {
      const value = bytes.readBigInt64LE();
      return value >= -MAX_SAFE && value <= MAX_SAFE ? Number(value) : value;
    },
    toBuffer: (value: number | bigint) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(value));
      return bytes;
    },
    isValid: (value: unknown) =>
      typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value),
    compare: (one: number | bigint, other: number | bigint) =>
      one === other ? 0 : one < other ? -1 : 1,
    fromJSON: (value: number) => value,
    toJSON: String,
  });
}
