/** The number that a batch's attributes carry. */
export const CODEC = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/** How the records of a batch, packed as one block, are unpacked. */
export interface RecordInflater {
  readonly id: number;
  readonly name: string;
  /**
   * Throws when the block is broken, or when it would inflate beyond `maxBytes`. No number in the
   * block may make it allocate more than that.
   */
  inflate(block: Uint8Array, maxBytes: number): Buffer;
}

/** How they are packed, too. */
export interface RecordCodec extends RecordInflater {
  compress(records: Uint8Array): Buffer;
}
