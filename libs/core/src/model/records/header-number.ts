import type { RecordHeader } from '@nest-event-bus/broker';

/** A number of so many digits is below 2^53. */
const SHORT_DIGITS = 15;
const ZERO = 0x30;
const NINE = 0x39;
const DECIMAL = /^-?\d{1,19}$/;

/**
 * Returns the last value of a header as a 64-bit number. The value is decimal text, or four or
 * eight big-endian bytes as Java's ByteBuffer writes them. Printable bytes are read as text,
 * because as a number they would be larger than any partition, offset or time.
 */
export function headerInteger(headers: readonly RecordHeader[], name: string): bigint | undefined {
  const bytes = lastValue(headers, name);
  if (!bytes) return undefined;
  return bytes.every(isPrintable) ? decimal(bytes.toString('latin1')) : binary(bytes);
}

/**
 * Returns the number like `headerInteger`, but undefined for negative numbers and for numbers above
 * 2^53.
 */
export function headerCount(headers: readonly RecordHeader[], name: string): number | undefined {
  const short = shortDecimal(lastValue(headers, name));
  if (short !== undefined) return short;
  const number = Number(headerInteger(headers, name) ?? -1n);
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function lastValue(headers: readonly RecordHeader[], name: string): Buffer | null | undefined {
  for (let index = headers.length - 1; index >= 0; index--)
    if (headers[index]!.key === name) return headers[index]!.value;
  return undefined;
}

/** Returns a number of up to 15 digits without a bigint; undefined for anything else. */
function shortDecimal(bytes: Buffer | null | undefined): number | undefined {
  if (!bytes || bytes.length === 0 || bytes.length > SHORT_DIGITS) return undefined;
  let number = 0;
  for (const byte of bytes) {
    if (byte < ZERO || byte > NINE) return undefined;
    number = number * 10 + byte - ZERO;
  }
  return number;
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
