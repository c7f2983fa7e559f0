import { MalformedBytesError } from '../../malformed-bytes-error.js';

/**
 * A bit stream that is read backwards, from its end to its start. The highest set bit of the last
 * byte marks the first bit to read. A read beyond the start returns zeros, so the caller must check
 * `left` at the end.
 */
export class BackwardBits {
  /** The number of unread bits; negative after a read beyond the start. */
  left: number;
  private readonly start: number;
  private readonly view: DataView;
  /** The position of the last complete 32-bit word. */
  private readonly lastWord: number;

  /** Creates a stream of the bytes from `start` to `end`. */
  constructor(
    private readonly bytes: Uint8Array,
    start: number,
    end: number,
  ) {
    const last = end > start ? (bytes[end - 1] as number) : 0;
    if (last === 0) throw new MalformedBytesError('a stream of bits has no end mark');
    this.start = start;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.lastWord = bytes.length - 4;
    this.left = (end - start) * 8 - 1 - (Math.clz32(last) - 24);
  }

  /** Reads up to 25 bits. */
  read(size: number): number {
    const value = this.peek(size);
    this.left -= size;
    return value;
  }

  /** Returns the next bits (up to 25) as a number of `size` bits, without consuming them. */
  peek(size: number): number {
    const from = this.left - size;
    return from >= 0 ? this.bitsAt(from, size) : this.bitsBeforeStart(size);
  }

  /** Reads a word that may include bytes after the stream; their bits are masked out. */
  private bitsAt(from: number, size: number): number {
    const at = this.start + (from >>> 3);
    const word = at <= this.lastWord ? this.view.getInt32(at, true) : this.wordAtEnd(at);
    return (word >>> (from & 7)) & ((1 << size) - 1);
  }

  private wordAtEnd(at: number): number {
    let word = 0;
    for (let end = this.bytes.length - 1; end >= at; end--) {
      word = (word << 8) | (this.bytes[end] as number);
    }
    return word;
  }

  private bitsBeforeStart(size: number): number {
    return this.left <= 0 ? 0 : this.bitsAt(0, this.left) << (size - this.left);
  }
}
