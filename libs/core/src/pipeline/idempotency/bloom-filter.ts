import { createHash } from 'node:crypto';

export interface BloomFilterOptions {
  /**
   * The number of keys that the filter is made for. With more keys there are more false positives,
   * but never a false negative.
   */
  readonly expected: number;
  /** The share of new keys that the filter may take for known ones: more than 0, less than 1. */
  readonly falsePositiveRate: number;
}

/** Detects keys that were certainly never added. */
export class BloomFilter {
  readonly #bits: Uint8Array;
  readonly #size: number;
  readonly #hashes: number;

  constructor({ expected, falsePositiveRate }: BloomFilterOptions) {
    const bitsPerKey = -Math.log(falsePositiveRate) / Math.LN2 ** 2;
    this.#size = Math.max(8, Math.ceil(expected * bitsPerKey));
    this.#hashes = Math.max(1, Math.round(bitsPerKey * Math.LN2));
    this.#bits = new Uint8Array(Math.ceil(this.#size / 8));
  }

  add(key: string): void {
    for (const bit of this.#bitsOf(key)) this.#bits[bit >>> 3]! |= 1 << (bit & 7);
  }

  mayHave(key: string): boolean {
    return this.#bitsOf(key).every((bit) => (this.#bits[bit >>> 3]! & (1 << (bit & 7))) !== 0);
  }

  /** Derives all hashes from two (Kirsch and Mitzenmacher). */
  #bitsOf(key: string): readonly number[] {
    const digest = createHash('sha256').update(key).digest();
    const first = digest.readUIntBE(0, 6);
    // An odd step is never 0, so that it always moves on.
    const step = digest.readUIntBE(6, 5) * 2 + 1;
    return Array.from({ length: this.#hashes }, (_, index) => (first + index * step) % this.#size);
  }
}
