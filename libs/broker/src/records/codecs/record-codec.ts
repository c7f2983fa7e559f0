/** Codec numbers in the attributes of a batch. */
export const CODEC = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/** Decompresses the records of a batch, which were compressed as one block. */
export interface RecordInflater {
  readonly id: number;
  readonly name: string;
  /**
   * Throws if the block is broken, or if its output would exceed `maxBytes`. Never allocates more
   * than that, whatever sizes the block claims.
   */
  inflate(block: Uint8Array, maxBytes: number): Buffer;
}

/** A codec that can also compress. */
export interface RecordCodec extends RecordInflater {
  compress(records: Uint8Array): Buffer;
}
