/** Castagnoli's polynomial with reversed bits. */
const POLYNOMIAL = 0x82f63b78;
const SLICES = 16;

/**
 * The tables for sixteen bytes at a time, one after the other. Table n has the effect of a byte
 * that n other bytes follow.
 */
const TABLES = createTables();

function createTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const previous = tables[index - 256] as number;
    tables[index] = (tables[previous & 0xff] as number) ^ (previous >>> 8);
  }
  return tables;
}

/**
 * Computes the CRC-32C of `bytes` from `start` to `end`, sixteen bytes at a time. This was measured
 * to be twice as fast as eight at a time, because fewer steps depend on the previous one.
 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const table = TABLES;
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let crc = -1;
  let at = start;
  for (const last = end - SLICES; at <= last; at += SLICES) {
    const a = crc ^ words.getInt32(at, true);
    const b = words.getInt32(at + 4, true);
    const c = words.getInt32(at + 8, true);
    const d = words.getInt32(at + 12, true);
    crc =
      (table[3840 + (a & 0xff)] as number) ^
      (table[3584 + ((a >>> 8) & 0xff)] as number) ^
      (table[3328 + ((a >>> 16) & 0xff)] as number) ^
      (table[3072 + (a >>> 24)] as number) ^
      (table[2816 + (b & 0xff)] as number) ^
      (table[2560 + ((b >>> 8) & 0xff)] as number) ^
      (table[2304 + ((b >>> 16) & 0xff)] as number) ^
      (table[2048 + (b >>> 24)] as number) ^
      (table[1792 + (c & 0xff)] as number) ^
      (table[1536 + ((c >>> 8) & 0xff)] as number) ^
      (table[1280 + ((c >>> 16) & 0xff)] as number) ^
      (table[1024 + (c >>> 24)] as number) ^
      (table[768 + (d & 0xff)] as number) ^
      (table[512 + ((d >>> 8) & 0xff)] as number) ^
      (table[256 + ((d >>> 16) & 0xff)] as number) ^
      (table[d >>> 24] as number);
  }
  for (; at < end; at++) {
    crc = (table[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}
