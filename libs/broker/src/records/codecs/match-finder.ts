const LARGEST_TABLE_BITS = 14;
const SMALLEST_TABLE_BITS = 8;
/** The multiplier of Knuth's multiplicative hash. */
const HASH_MULTIPLIER = 0x9e3779b1;
/**
 * The step between two attempts grows if nothing repeats, so that incompressible bytes are skipped
 * quickly.
 */
const STEPS_BEFORE_FASTER = 64;
/**
 * LZ4 allows no match that starts in the last 12 bytes or reaches into the last 5. For Snappy the
 * same limit costs little compression.
 */
const NO_MATCH_STARTS = 12;
const NO_MATCH_REACHES = 5;

/**
 * Finds repeated bytes, for the compression of both Snappy and LZ4. After `find` the bytes from
 * `literals` to `at` are new. The `length` bytes from `at` on are the same as those `distance`
 * bytes before.
 */
export class MatchFinder {
  literals = 0;
  at = 0;
  length = 0;
  distance = 0;
  private start = 0;
  private end = 0;
  private readonly shift: number;
  private readonly table: Int32Array;

  constructor(private readonly input: Uint8Array) {
    const bits = 32 - Math.clz32(Math.min(input.length, 1 << LARGEST_TABLE_BITS));
    const tableBits = Math.min(Math.max(bits, SMALLEST_TABLE_BITS), LARGEST_TABLE_BITS);
    this.table = new Int32Array(1 << tableBits);
    this.shift = 32 - tableBits;
  }

  /** Restricts the search to the given range. Ranges must be passed in ascending order. */
  startBlock(start: number, end: number): void {
    this.start = this.literals = this.at = start;
    this.end = end;
    this.length = 0;
  }

  /** Returns false if all bytes from `literals` to the end of the block are new. */
  find(): boolean {
    const { input, table, shift, start } = this;
    const lastStart = this.end - NO_MATCH_STARTS;
    let at = this.at + this.length;
    this.literals = at;
    if (this.length > 0 && at <= lastStart) {
      table[Math.imul(wordAt(input, at - 2), HASH_MULTIPLIER) >>> shift] = at - 2;
    }
    for (let tries = STEPS_BEFORE_FASTER; at <= lastStart; at += tries++ >> 6) {
      const word = wordAt(input, at);
      const slot = Math.imul(word, HASH_MULTIPLIER) >>> shift;
      const candidate = table[slot] as number;
      table[slot] = at;
      if (candidate < start || candidate >= at || wordAt(input, candidate) !== word) continue;
      this.extend(at, candidate);
      return true;
    }
    this.length = 0;
    return false;
  }

  private extend(at: number, candidate: number): void {
    const { input, start, literals } = this;
    const end = this.end - NO_MATCH_REACHES;
    let stop = at + 4;
    let other = candidate + 4;
    while (stop < end && input[stop] === input[other]) {
      stop++;
      other++;
    }
    while (at > literals && candidate > start && input[at - 1] === input[candidate - 1]) {
      at--;
      candidate--;
    }
    this.at = at;
    this.length = stop - at;
    this.distance = at - candidate;
  }
}

function wordAt(input: Uint8Array, at: number): number {
  return (
    (input[at] as number) |
    ((input[at + 1] as number) << 8) |
    ((input[at + 2] as number) << 16) |
    ((input[at + 3] as number) << 24)
  );
}
