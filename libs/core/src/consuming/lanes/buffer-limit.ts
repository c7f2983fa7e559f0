/** With less a partition would go from fetch to fetch. */
const SMALLEST_SHARE = 64 * 1024;

/** Bytes of records that the lanes of all sessions may hold, in equal shares. */
export class BufferLimit {
  #lanes = 0;
  #bytesPerPartition: number | undefined;

  constructor(
    private readonly totalBytes: () => number,
    private readonly smallestShare = SMALLEST_SHARE,
  ) {}

  /**
   * Half of a lane's share. One that holds as much asks for no more, and no poll brings more than
   * this: with the last record of each, all stay within their shares.
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
