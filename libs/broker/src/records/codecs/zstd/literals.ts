import { MalformedBytesError } from '../../malformed-bytes-error.js';
import { inflateHuffman, readHuffmanTable, type HuffmanTable } from './huffman.js';

export interface Literals {
  readonly bytes: Uint8Array;
  /** The Huffman table, which a later block may reuse. */
  readonly table: HuffmanTable | undefined;
  /** The position after the section. */
  readonly end: number;
}

/** Literals block types of RFC 8878, in the low two bits of the section. */
const RAW = 0;
const RLE = 1;
const COMPRESSED = 2;

const JUMP_TABLE_BYTES = 6;

/** Headers of compressed literals by size format: bytes, bits of each of the two sizes, streams. */
const COMPRESSED_HEADERS = [
  { bytes: 3, bits: 10, streams: 1 },
  { bytes: 3, bits: 10, streams: 4 },
  { bytes: 4, bits: 14, streams: 4 },
  { bytes: 5, bits: 18, streams: 4 },
] as const;

interface Section {
  readonly kind: number;
  readonly streams: number;
  /** The number of literals. */
  readonly size: number;
  readonly start: number;
  readonly end: number;
}

/** Reads the literals section of the block from `start` to `limit`. */
export function readLiterals(
  bytes: Uint8Array,
  start: number,
  limit: number,
  maxBytes: number,
  known: HuffmanTable | undefined,
): Literals {
  const section = readSection(bytes, start, limit);
  if (section.end > limit) throw new MalformedBytesError('its literals are cut off');
  if (section.size > maxBytes) {
    throw new MalformedBytesError(`it has ${section.size} literals, in a block of ${maxBytes}`);
  }
  const { kind, end } = section;
  if (kind === RAW) return { bytes: bytes.subarray(section.start, end), table: known, end };
  if (kind === RLE) {
    const byte = bytes[section.start] as number;
    return { bytes: new Uint8Array(section.size).fill(byte), table: known, end };
  }
  return inflateLiterals(bytes, section, known);
}

function readSection(bytes: Uint8Array, start: number, limit: number): Section {
  const first = start < limit ? (bytes[start] as number) : 0;
  const kind = first & 3;
  const format = (first >>> 2) & 3;
  return kind === RAW || kind === RLE
    ? plainSection(bytes, start, kind, format)
    : compressedSection(bytes, start, kind, format);
}

function plainSection(bytes: Uint8Array, start: number, kind: number, format: number): Section {
  const header = format === 3 ? 3 : format === 1 ? 2 : 1;
  const size = littleEndian(bytes, start, header) >>> (header === 1 ? 3 : 4);
  const from = start + header;
  return { kind, streams: 0, size, start: from, end: from + (kind === RLE ? 1 : size) };
}

/** Reads a header of up to 40 bits, which is more than bitwise operators support. */
function compressedSection(
  bytes: Uint8Array,
  start: number,
  kind: number,
  format: number,
): Section {
  const { bytes: header, bits, streams } = COMPRESSED_HEADERS[format as 0 | 1 | 2 | 3];
  const sizes = Math.floor(littleEndian(bytes, start, header) / 16);
  const size = sizes % 2 ** bits;
  const from = start + header;
  return { kind, streams, size, start: from, end: from + Math.floor(sizes / 2 ** bits) };
}

function littleEndian(bytes: Uint8Array, start: number, size: number): number {
  let value = 0;
  for (let at = start + size - 1; at >= start; at--) value = value * 256 + (bytes[at] ?? 0);
  return value;
}

function inflateLiterals(
  bytes: Uint8Array,
  section: Section,
  known: HuffmanTable | undefined,
): Literals {
  const { size, streams, end } = section;
  const own = section.kind === COMPRESSED ? readHuffmanTable(bytes, section.start, end) : undefined;
  const table = own?.table ?? known;
  if (table === undefined)
    throw new MalformedBytesError('it refers to a tree that was not defined');
  const start = own?.end ?? section.start;
  const output = new Uint8Array(size);
  if (streams === 1) inflateHuffman(table, bytes, [start, end], output);
  else inflateFourStreams(table, bytes, [start, end], output);
  return { bytes: output, table, end };
}

/**
 * Inflates four streams. The lengths of the first three precede them. Each stream gives a quarter,
 * rounded up, and the last one gives the rest.
 */
function inflateFourStreams(
  table: HuffmanTable,
  bytes: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  output: Uint8Array,
): void {
  const quarter = (output.length + 3) >>> 2;
  let from = start + JUMP_TABLE_BYTES;
  for (let stream = 0; stream < 4; stream++) {
    const stop = stream === 3 ? end : from + littleEndian(bytes, start + stream * 2, 2);
    if (stop > end || stream * quarter > output.length) {
      throw new MalformedBytesError('its streams of literals are cut off');
    }
    const part = output.subarray(stream * quarter, (stream + 1) * quarter);
    inflateHuffman(table, bytes, [from, stop], part);
    from = stop;
  }
}
