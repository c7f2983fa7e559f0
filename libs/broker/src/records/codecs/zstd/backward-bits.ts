import { MalformedBytesError } from '../../malformed-bytes-error.js';

/**
 * A stream of bits that is read from its end to its start: the highest set bit of the last byte
 * marks where it begins. It may be read beyond its start, where there are only zeros; whoever
 * reads looks at `left` in the end.
 */
export class BackwardBits {
  /** How many bits are not read yet; negative once more was read than there is. */
  left: number;
  private readonly start: number;
  private readonly view: DataView;
  /** Where the last whole word starts. */
  private readonly lastWord: number;

  /** The stream is exactly the bytes from `start` to `end`. */
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

  /** Up to 25 bits. */
  read(size: number): number {
    const value = this.peek(size);
    this.left -= size;
    return value;
  }

  /** Up to 25 bits, as a number of `size` bits; they stay. */
  peek(size: number): number {
    const from = this.left - size;
    return from >= 0 ? this.bitsAt(from, size) : this.bitsBeforeStart(size);
  }

  /** Bytes behind the stream may be looked at; their bits are masked out. */
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
