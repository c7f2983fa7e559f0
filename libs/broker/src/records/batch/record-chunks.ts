/** A record that is held pins at most this much, or its own size where that is more. */
export const CHUNK_BYTES = 16 * 1024;

/** A stretch of memory that belongs to records; `start` is where the bytes asked for begin in it. */
export interface RecordChunk {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * Where record bytes are copied to when they leave a fetch response. What is large gets memory of
 * exactly its size; what is small shares a chunk with what came before and after it, so that a
 * trickle of single records does not cost a chunk each. One instance may serve any number of readers.
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
