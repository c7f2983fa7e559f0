import { gunzipSync, gzipSync } from 'node:zlib';

/** The number that a batch's attributes carry. */
export const CODEC = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/** How the records of a batch are packed as one block. */
export interface RecordCodec {
  readonly id: number;
  readonly name: string;
  compress(records: Uint8Array): Buffer;
  /** Throws when the block is broken, or when it would inflate beyond `maxBytes`. */
  inflate(block: Uint8Array, maxBytes: number): Buffer;
}

/** A block of records inflates several-fold; asking zlib for large pieces saves most of its calls. */
const INFLATE_PIECE = 64 * 1024;

export const gzip: RecordCodec = {
  id: CODEC.gzip,
  name: 'gzip',
  compress: (records) => gzipSync(records),
  inflate: (block, maxBytes) =>
    gunzipSync(block, { maxOutputLength: maxBytes, chunkSize: INFLATE_PIECE }),
};

/** Which codecs can be read. Further ones are added here; a batch of any other is poison. */
export class CodecRegistry {
  private readonly codecs = new Map<number, RecordCodec>();

  constructor(codecs: Iterable<RecordCodec> = [gzip]) {
    for (const codec of codecs) this.codecs.set(codec.id, codec);
  }

  find(id: number): RecordCodec | undefined {
    return this.codecs.get(id);
  }

  /** Kafka's name for the number, known to us or not. */
  static nameOf(id: number): string {
    const entry = Object.entries(CODEC).find(([, known]) => known === id);
    return entry === undefined ? `codec ${id}` : entry[0];
  }
}

export const standardCodecs = new CodecRegistry();
