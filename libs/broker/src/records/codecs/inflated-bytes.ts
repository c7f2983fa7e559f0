import { MalformedBytesError } from '../malformed-bytes-error.js';
import { copyBytes } from './copy-bytes.js';

/** Up to this length a loop is faster than a call into native code. */
const SHORT_REPEAT = 24;
const LEAST_BYTES = 1024;

/**
 * The output of a block that is being inflated. Grows only with the bytes that are written, not by
 * the size that the block claims, and never beyond the limit.
 */
export class InflatedBytes {
  /** The number of bytes written to `bytes`. */
  length = 0;
  private bytes: Buffer;

  constructor(
    private readonly maxBytes: number,
    guess: number,
  ) {
    this.bytes = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(guess, LEAST_BYTES)));
  }

  /** Returns a view of the output, not a copy. */
  finish(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** Returns the bytes from `start` on; the view is valid until more bytes are written. */
  written(start: number): Uint8Array {
    return this.bytes.subarray(start, this.length);
  }

  /** Copies `source` from `from` to `end`; the range must be within `source`. */
  append(source: Uint8Array, from: number, end: number): void {
    this.reserve(end - from);
    this.length = copyBytes(source, from, end, this.bytes, this.length);
  }

  fill(byte: number, size: number): void {
    this.reserve(size);
    this.bytes.fill(byte, this.length, this.length + size);
    this.length += size;
  }

  /**
   * Appends a copy of `size` bytes that start `distance` bytes before the end of the output. The
   * source may overlap the copy. `floor` is the lowest position that may be copied from.
   */
  repeat(distance: number, size: number, floor: number): void {
    if (distance < 1 || distance > this.length - floor) {
      throw new MalformedBytesError(`a copy starts ${distance} bytes back, before the first byte`);
    }
    this.reserve(size);
    const end = this.length + size;
    if (size <= SHORT_REPEAT) this.repeatByByte(distance, end);
    else this.repeatByCopy(distance, end);
    this.length = end;
  }

  private repeatByByte(distance: number, end: number): void {
    const bytes = this.bytes;
    for (let at = this.length; at < end; at++) bytes[at] = bytes[at - distance] as number;
  }

  /**
   * Doubles the copied size in each pass. This is correct because the bytes already written are a
   * whole number of repetitions.
   */
  private repeatByCopy(distance: number, end: number): void {
    const from = this.length - distance;
    for (let at = this.length; at < end;) {
      const size = Math.min(at - from, end - at);
      this.bytes.copyWithin(at, from, from + size);
      at += size;
    }
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed > this.bytes.length) this.grow(needed);
  }

  private grow(needed: number): void {
    if (needed > this.maxBytes) {
      throw new MalformedBytesError(`it inflates beyond ${this.maxBytes} bytes`);
    }
    const size = Math.min(this.maxBytes, Math.max(needed, this.bytes.length * 2));
    const larger = Buffer.allocUnsafeSlow(size);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
