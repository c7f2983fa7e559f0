import type { Runtime } from '../runtime/runtime.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const RANDOM_CHARACTERS = 16;

/**
 * Creates ULIDs that grow: within one millisecond, and when the clock goes backwards, the next id
 * is the last one plus one. Stores sort events of the same millisecond by id.
 */
export class MonotonicUlid {
  #time = -1;
  #random: number[] = [];

  constructor(private readonly runtime: Pick<Runtime, 'now' | 'random'>) {}

  next(): string {
    const now = this.runtime.now();
    if (now > this.#time) {
      this.#time = now;
      this.#random = Array.from({ length: RANDOM_CHARACTERS }, (_, index) =>
        // The first random character stays below half, so that an increment never overflows.
        Math.floor(this.runtime.random() * (index === 0 ? 16 : 32)),
      );
    } else {
      increment(this.#random);
    }
    return timeCharacters(this.#time) + this.#random.map((digit) => ALPHABET[digit]).join('');
  }
}

function increment(digits: number[]): void {
  for (let index = digits.length - 1; index >= 0; index--) {
    const digit = (digits[index] ?? 0) + 1;
    digits[index] = digit % ALPHABET.length;
    if (digit < ALPHABET.length) return;
  }
}

function timeCharacters(time: number): string {
  let text = '';
  for (let rest = time; text.length < 10; rest = Math.floor(rest / ALPHABET.length))
    text = ALPHABET[rest % ALPHABET.length] + text;
  return text;
}
