/** With less a partition would go from fetch to fetch. */
const SMALLEST_SHARE = 64 * 1024;

/** Bytes of records that the lanes of all sessions may hold, in equal shares. */
export class LaneMemory {
  #lanes = 0;
  #enoughBytes: number | undefined;

  constructor(
    private readonly totalBytes: () => number,
    private readonly smallestShare = SMALLEST_SHARE,
  ) {}

  /**
   * Half of a lane's share. One that holds as much asks for no more, and no poll brings more than
   * this: with the last record of each, all stay within their shares.
   */
  get enoughBytes(): number {
    return (this.#enoughBytes ??= this.#halfOfShare());
  }

  enter(): void {
    this.#lanes++;
    this.#enoughBytes = undefined;
  }

  leave(): void {
    this.#lanes--;
    this.#enoughBytes = undefined;
  }

  #halfOfShare(): number {
    const share = Math.max(this.smallestShare, this.totalBytes() / Math.max(this.#lanes, 1));
    return Math.floor(share / 2);
  }
}
