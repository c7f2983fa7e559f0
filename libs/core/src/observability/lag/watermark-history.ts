interface Point {
  at: number;
  readonly high: number;
}

/** Time in which a record was written, as far as the high watermarks say. */
export interface ArrivalTime {
  /** -Infinity if the record is older than the history. */
  readonly earliest: number;
  readonly latest: number;
  /** Linear interpolation between both; undefined if the record is older than the history. */
  readonly estimate: number | undefined;
}

const MOST_POINTS = 120;

/**
 * Remembers when a partition had which high watermark. The later half of its points is complete;
 * older points are thinned out, so that the memory is bounded and the history is long.
 */
export class WatermarkHistory {
  #points: Point[] = [];

  /** Forgets everything if the watermark has gone back, because it is that of another log. */
  add(at: number, high: number): void {
    const last = this.#points.at(-1);
    if (last && high < last.high) this.#points = [];
    const isFlat = last?.high === high && this.#points.at(-2)?.high === high;
    if (isFlat) last.at = at;
    else this.#points.push({ at, high });
    if (this.#points.length > MOST_POINTS) this.#thinOut();
  }

  clear(): void {
    this.#points = [];
  }

  /** Returns undefined for a record beyond the last watermark. */
  arrivalOf(offset: number): ArrivalTime | undefined {
    const index = this.#points.findIndex(({ high }) => high > offset);
    const after = this.#points[index];
    if (!after) return undefined;
    const before = this.#points[index - 1];
    if (!before) return { earliest: -Infinity, latest: after.at, estimate: undefined };
    const share = (offset + 1 - before.high) / (after.high - before.high);
    const estimate = before.at + share * (after.at - before.at);
    return { earliest: before.at, latest: after.at, estimate };
  }

  #thinOut(): void {
    const half = MOST_POINTS / 2;
    this.#points = this.#points.filter((_, index) => index >= half || index % 2 === 0);
  }
}
