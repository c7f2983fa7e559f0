import { MalformedBytesError } from '../../malformed-bytes-error.js';
import type { InflatedBytes } from '../inflated-bytes.js';
import { BackwardBits } from './backward-bits.js';
import type { HuffmanTable } from './huffman.js';
import { readLiterals } from './literals.js';
import {
  inflateSequences,
  readSequenceSection,
  RecentOffsets,
  type SequenceTables,
} from './sequences.js';

const MAGIC = 0xfd2fb528;
/**
 * Skippable frames with arbitrary content have 16 magic numbers, which differ in the last four
 * bits.
 */
const SKIPPABLE_MAGIC = 0x184d2a50;
const MAX_BLOCK_BYTES = 128 * 1024;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;

const DESCRIPTOR = {
  singleSegment: 0x20,
  reserved: 0x08,
  checksum: 0x04,
  dictionary: 0x03,
} as const;
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;

/** Block types of RFC 8878. */
const RAW = 0;
const RLE = 1;
const COMPRESSED = 2;

interface FrameHeader {
  readonly maxBlockBytes: number;
  readonly contentSize: number | undefined;
  readonly hasChecksum: boolean;
  /** The position of the first block. */
  readonly blocks: number;
}

/**
 * Inflates the frame that starts at `at`; returns the position after it. The checksum is not
 * verified, because the record batch has its own.
 */
export function inflateZstdFrame(
  bytes: Uint8Array,
  at: number,
  output: InflatedBytes,
  maxBytes: number,
): number {
  const reader = new FrameReader(bytes);
  const magic = reader.number(at, 4);
  if (magic - (magic % 16) === SKIPPABLE_MAGIC) {
    return reader.end(at + 8, reader.number(at + 4, 4));
  }
  if (magic !== MAGIC) {
    throw new MalformedBytesError('it does not start with the magic number of zstd frames');
  }
  const header = readHeader(reader, at + 4);
  if (header.contentSize !== undefined && header.contentSize > maxBytes) {
    throw new MalformedBytesError(`its frame claims ${header.contentSize} bytes`);
  }
  const start = output.length;
  const end = new FrameBlocks(reader, header, output).inflate();
  requireContentSize(header, output.length - start);
  return header.hasChecksum ? reader.end(end, CHECKSUM_BYTES) : end;
}

function readHeader(reader: FrameReader, start: number): FrameHeader {
  const descriptor = reader.number(start, 1);
  if ((descriptor & DESCRIPTOR.reserved) !== 0) {
    throw new MalformedBytesError('the header of its frame has a reserved bit');
  }
  const isSingle = (descriptor & DESCRIPTOR.singleSegment) !== 0;
  let at = start + 1;
  const window = isSingle ? undefined : windowBytes(reader.number(at++, 1));
  const dictionaryBytes = DICTIONARY_BYTES[(descriptor & DESCRIPTOR.dictionary) as 0 | 1 | 2 | 3];
  if (reader.number(at, dictionaryBytes) !== 0) {
    throw new MalformedBytesError('it needs a dictionary, which Kafka does not support');
  }
  at += dictionaryBytes;
  const sizeBytes = contentSizeBytes(descriptor >>> 6, isSingle);
  // Sizes of two bytes are stored minus 256, because smaller ones fit into one byte.
  const stated = reader.number(at, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const contentSize = sizeBytes === 0 ? undefined : stated;
  return {
    maxBlockBytes: Math.min(window ?? stated, MAX_BLOCK_BYTES),
    contentSize,
    hasChecksum: (descriptor & DESCRIPTOR.checksum) !== 0,
    blocks: at + sizeBytes,
  };
}

/** Returns the window size. The window is not allocated: matches refer to the output. */
function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >>> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentSizeBytes(code: number, isSingle: boolean): number {
  if (code === 0) return isSingle ? 1 : 0;
  return 2 ** code;
}

function requireContentSize({ contentSize }: FrameHeader, size: number): void {
  if (contentSize === undefined || contentSize === size) return;
  throw new MalformedBytesError(`a frame that claims ${contentSize} bytes has ${size} of them`);
}

/** The blocks of one frame. A block may reuse the tables, trees and distances of earlier blocks. */
class FrameBlocks {
  private readonly floor: number;
  private readonly recent = new RecentOffsets();
  private tree: HuffmanTable | undefined;
  private tables: SequenceTables | undefined;

  constructor(
    private readonly reader: FrameReader,
    private readonly header: FrameHeader,
    private readonly output: InflatedBytes,
  ) {
    this.floor = output.length;
  }

  /** Returns the position after the last block. */
  inflate(): number {
    for (let at = this.header.blocks; ;) {
      const header = this.reader.number(at, BLOCK_HEADER_BYTES);
      at = this.inflateBlock((header >>> 1) & 3, header >>> 3, at + BLOCK_HEADER_BYTES);
      if ((header & 1) !== 0) return at;
    }
  }

  private inflateBlock(kind: number, size: number, start: number): number {
    if (size > this.header.maxBlockBytes) {
      throw new MalformedBytesError(`a block of ${size} bytes is longer than its frame allows`);
    }
    const { reader, output } = this;
    const end = reader.end(start, kind === RLE ? 1 : size);
    switch (kind) {
      case RAW:
        output.append(reader.bytes, start, end);
        return end;
      case RLE:
        output.fill(reader.number(start, 1), size);
        return end;
      case COMPRESSED:
        this.inflateCompressed(start, end);
        return end;
      default:
        throw new MalformedBytesError('a block is of a reserved kind');
    }
  }

  private inflateCompressed(start: number, end: number): void {
    const { reader, output, floor } = this;
    const { maxBlockBytes } = this.header;
    const literals = readLiterals(reader.bytes, start, end, maxBlockBytes, this.tree);
    this.tree = literals.table;
    const section = readSequenceSection(reader.bytes, literals.end, end, this.tables);
    this.tables = section.tables;
    const before = output.length;
    if (section.count === 0 || section.tables === undefined) {
      output.append(literals.bytes, 0, literals.bytes.length);
    } else {
      const bits = new BackwardBits(reader.bytes, section.start, end);
      const bounds = { floor, end: before + maxBlockBytes };
      inflateSequences(
        bits,
        section.count,
        section.tables,
        literals.bytes,
        this.recent,
        output,
        bounds,
      );
    }
    if (output.length - before > maxBlockBytes) {
      throw new MalformedBytesError('a block inflates to more than its frame allows');
    }
  }
}

class FrameReader {
  constructor(readonly bytes: Uint8Array) {}

  /** Reads a little-endian number, rounded if it is larger than any valid size. */
  number(at: number, size: number): number {
    let value = 0;
    for (let byte = this.end(at, size) - 1; byte >= at; byte--) {
      value = value * 256 + (this.bytes[byte] as number);
    }
    return value;
  }

  /** Returns the end of a piece of this size; throws if it is truncated. */
  end(at: number, size: number): number {
    if (size > this.bytes.length - at) throw new MalformedBytesError('a frame is cut off');
    return at + size;
  }
}
