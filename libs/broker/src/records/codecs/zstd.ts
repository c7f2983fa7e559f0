import * as zlib from 'node:zlib';
import { InflatedBytes } from './inflated-bytes.js';
import { CODEC, type RecordCodec, type RecordInflater } from './record-codec.js';
import { inflateZstdFrame } from './zstd/frame.js';

/** What Node.js has from 22.15 and 23.8 on. */
export interface NativeZstd {
  zstdCompressSync(bytes: Uint8Array): Buffer;
  zstdDecompressSync(
    bytes: Uint8Array,
    options: { readonly maxOutputLength: number; readonly chunkSize: number },
  ): Buffer;
}

/** A block of records inflates several-fold; asking for large pieces saves most of the calls. */
const INFLATE_PIECE = 64 * 1024;
/** Text of records comes to about this. */
const USUAL_RATIO = 6;

/** Reads zstd on every Node.js, a few times slower than Node.js's own. */
export const plainZstd: RecordInflater = {
  id: CODEC.zstd,
  name: 'zstd',
  inflate(block, maxBytes) {
    const output = new InflatedBytes(maxBytes, block.length * USUAL_RATIO);
    for (let at = 0; at < block.length;) at = inflateZstdFrame(block, at, output, maxBytes);
    return output.finish();
  },
};

/** What reads zstd, and writes it too where this Node.js can: packing it well is no small matter. */
export function zstdOf(native: Partial<NativeZstd>): RecordInflater | RecordCodec {
  const { zstdCompressSync, zstdDecompressSync } = native;
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return plainZstd;
  return {
    id: CODEC.zstd,
    name: 'zstd',
    compress: (records) => zstdCompressSync(records),
    // For a frame that asks for it, it sets aside a window of up to 128 MiB, and touches what it fills.
    inflate: (block, maxBytes) =>
      zstdDecompressSync(block, { maxOutputLength: maxBytes, chunkSize: INFLATE_PIECE }),
  };
}

export const zstd = zstdOf(zlib as Partial<NativeZstd>);
