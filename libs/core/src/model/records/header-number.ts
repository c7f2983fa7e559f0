import type { RecordHeader } from '@nest-event-bus/broker';

const DECIMAL = /^-?\d{1,19}$/;

/**
 * The last value of a header as a number of 64 bits: decimal text, or four or eight big-endian
 * bytes, as Java's ByteBuffer writes them. Printable bytes are read as text: as a number they would
 * be larger than any partition, offset or time.
 */
export function headerInteger(headers: readonly RecordHeader[], name: string): bigint | undefined {
  const bytes = headers.findLast(({ key }) => key === name)?.value;
  if (!bytes) return undefined;
  return bytes.every(isPrintable) ? decimal(bytes.toString('latin1')) : binary(bytes);
}

/** Like `headerInteger`, but undefined for negative numbers and for numbers beyond 2^53. */
export function headerCount(headers: readonly RecordHeader[], name: string): number | undefined {
  const number = Number(headerInteger(headers, name) ?? -1n);
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

const isPrintable = (byte: number): boolean => byte >= 0x20 && byte <= 0x7e;

function decimal(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const number = BigInt(text);
  return BigInt.asIntN(64, number) === number ? number : undefined;
}

function binary(bytes: Buffer): bigint | undefined {
  if (bytes.length === 4) return BigInt(bytes.readInt32BE());
  return bytes.length === 8 ? bytes.readBigInt64BE() : undefined;
}
