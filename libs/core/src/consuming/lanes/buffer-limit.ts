/** Smallest share of a lane. With less, a partition would need a fetch for every few records. */
const SMALLEST_SHARE = 64 * 1024;

/** Limits the bytes that the lanes of all sessions may buffer, in equal shares. */
export class BufferLimit {
  #lanes = 0;
  #bytesPerPartition: number | undefined;

  constructor(
    private readonly totalBytes: () => number,
    private readonly smallestShare = SMALLEST_SHARE,
  ) {}

  /**
   * Half of a lane's share. A lane that buffers as much is not fetched, and no poll brings more
   * than this. So a lane stays within its share, the last record included.
   */
  get bytesPerPartition(): number {
    return (this.#bytesPerPartition ??= this.#halfOfShare());
  }

  addLane(): void {
    this.#lanes++;
    this.#bytesPerPartition = undefined;
  }

  removeLane(): void {
    this.#lanes--;
    this.#bytesPerPartition = undefined;
  }

  #halfOfShare(): number {
    const share = Math.max(this.smallestShare, this.totalBytes() / Math.max(this.#lanes, 1));
    return Math.floor(share / 2);
  }
}
