/**
 * The size of a shared chunk. A retained record keeps at most this much memory, or its own size if
 * that is larger.
 */
export const CHUNK_BYTES = 16 * 1024;

/**
 * A range of memory that belongs to records; `start` is the position of the requested bytes in it.
 */
export interface RecordChunk {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * Allocates the memory into which records are copied from a fetch response. A large piece gets
 * memory of exactly its size. Small pieces share a chunk, so that a slow stream of single records
 * does not use one chunk per record. One instance may serve any number of readers.
 */
export class RecordChunks {
  private shared: Buffer | undefined;
  private used = 0;

  take(size: number): RecordChunk {
    if (size > CHUNK_BYTES / 2) return { bytes: Buffer.allocUnsafeSlow(size), start: 0 };
    if (this.shared === undefined || this.used + size > this.shared.length) {
      this.shared = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.used = 0;
    }
    const start = this.used;
    this.used += size;
    return { bytes: this.shared, start };
  }
}
