import { MalformedBytesError } from './malformed-bytes-error.js';

const TWO_TO_27 = 0x800_0000;
const TWO_TO_32 = 0x1_0000_0000;

/**
 * Reads an int64 exactly, or throws. The check is safe although the sum may be rounded: a value
 * beyond 2^53 - 1 is never rounded back below it.
 */
export function readSafeInt64(bytes: Buffer, at: number): number {
  const value = bytes.readInt32BE(at) * TWO_TO_32 + bytes.readUInt32BE(at + 4);
  if (!Number.isSafeInteger(value)) {
    throw new MalformedBytesError(
      `the 64-bit integer ${bytes.readBigInt64BE(at)} is beyond 2^53 - 1`,
    );
  }
  return value;
}

export function writeSafeInt64(bytes: Buffer, at: number, value: number): void {
  const high = Math.floor(value / TWO_TO_32);
  bytes.writeInt32BE(high, at);
  bytes.writeUInt32BE(value - high * TWO_TO_32, at + 4);
}

/** Returns the size in bytes of `value` as a zigzag varint, for any safe integer. */
export function sizeOfVarlong(value: number): number {
  // Zigzag shifts the magnitude left by one, so the first byte has 6 bits of it.
  let rest = value < 0 ? -(value + 1) : value;
  let size = 1;
  rest = Math.floor(rest / 64);
  while (rest > 0) {
    rest = Math.floor(rest / 128);
    size++;
  }
  return size;
}

/** Returns the size in bytes of an int32 as a zigzag varint. */
export function sizeOfVarint(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

/**
 * Writes an int32 as a zigzag varint and returns the position after it. The caller ensures that the
 * buffer is large enough.
 */
export function writeVarint(bytes: Buffer, at: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  while (zigzag >= 0x80) {
    bytes[at++] = (zigzag & 0x7f) | 0x80;
    zigzag >>>= 7;
  }
  bytes[at++] = zigzag;
  return at;
}

/** Writes any safe integer; see {@link writeVarint}. */
export function writeVarlong(bytes: Buffer, at: number, value: number): number {
  if (value === (value | 0)) return writeVarint(bytes, at, value);
  const sign = value < 0 ? 1 : 0;
  const magnitude = value < 0 ? -(value + 1) : value;
  // The low part has 28 bits of the zigzag value, the high part has the rest. Together they may
  // have 54 bits, one more than a number holds.
  let high = Math.floor(magnitude / TWO_TO_27);
  let low = (((magnitude - high * TWO_TO_27) << 1) | sign) >>> 0;
  for (let group = 0; group < 4; group++) {
    bytes[at++] = (low & 0x7f) | 0x80;
    low >>>= 7;
  }
  while (high >= 0x80) {
    bytes[at++] = (high & 0x7f) | 0x80;
    high >>>= 7;
  }
  bytes[at++] = high;
  return at;
}

/**
 * Reads zigzag varints and never reads beyond `limit`. Moves forward only when a read succeeds.
 * Throws only MalformedBytesError.
 */
export class VarintCursor {
  constructor(
    public bytes: Buffer,
    public position: number,
    public limit: number,
  ) {}

  /** Reads an int32. Nearly all varints of a record are one byte long, so that case comes first. */
  varint(): number {
    const at = this.position;
    if (at < this.limit) {
      const first = this.bytes[at] as number;
      if (first < 0x80) {
        this.position = at + 1;
        return (first >>> 1) ^ -(first & 1);
      }
    }
    return this.longerVarint();
  }

  /** Reads an int64 if it is a safe integer. */
  varlong(): number {
    const at = this.position;
    if (at < this.limit) {
      const first = this.bytes[at] as number;
      if (first < 0x80) {
        this.position = at + 1;
        return (first >>> 1) ^ -(first & 1);
      }
    }
    return this.longerVarlong();
  }

  private longerVarint(): number {
    const bytes = this.bytes;
    let at = this.position;
    let value = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.byteAt(bytes, at++);
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.position = at;
        return (value >>> 1) ^ -(value & 1);
      }
    }
    throw new MalformedBytesError('a varint is longer than 32 bits');
  }

  private longerVarlong(): number {
    const bytes = this.bytes;
    let at = this.position;
    let low = 0;
    let high = 0;
    for (let group = 0; group < 8; group++) {
      const byte = this.byteAt(bytes, at++);
      if (group < 4) low |= (byte & 0x7f) << (group * 7);
      else high |= (byte & 0x7f) << (group * 7 - 28);
      if (byte < 0x80) {
        const magnitude = (low >>> 1) + high * TWO_TO_27;
        const value = (low & 1) === 0 ? magnitude : -magnitude - 1;
        if (!Number.isSafeInteger(value)) break;
        this.position = at;
        return value;
      }
    }
    throw new MalformedBytesError('a varlong is beyond 2^53 - 1');
  }

  private byteAt(bytes: Buffer, at: number): number {
    if (at >= this.limit) throw new MalformedBytesError('a varint runs out of its record or batch');
    return bytes[at] as number;
  }
}
