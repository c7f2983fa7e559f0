import * as zlib from 'node:zlib';
import { InflatedBytes } from './inflated-bytes.js';
import { CODEC, type RecordCodec, type RecordInflater } from './record-codec.js';
import { inflateZstdFrame } from './zstd/frame.js';

/** The zstd functions of Node.js 22.15, 23.8 and later. */
export interface NativeZstd {
  zstdCompressSync(bytes: Uint8Array): Buffer;
  zstdDecompressSync(
    bytes: Uint8Array,
    options: { readonly maxOutputLength: number; readonly chunkSize: number },
  ): Buffer;
}

/**
 * Inflated records are several times larger than their block. Large output chunks therefore save
 * most of the calls.
 */
const OUTPUT_CHUNK_BYTES = 64 * 1024;
/** The typical compression ratio of text records. */
const USUAL_RATIO = 6;

/** Reads zstd with every version of Node.js, but a few times slower than the native decoder. */
export const javascriptZstd: RecordInflater = {
  id: CODEC.zstd,
  name: 'zstd',
  inflate(block, maxBytes) {
    const output = new InflatedBytes(maxBytes, block.length * USUAL_RATIO);
    for (let at = 0; at < block.length;) at = inflateZstdFrame(block, at, output, maxBytes);
    return output.finish();
  },
};

/**
 * Returns a codec that reads zstd, and also writes it if this Node.js has native zstd. A JavaScript
 * encoder with a good ratio would be too much code.
 */
export function zstdOf(native: Partial<NativeZstd>): RecordInflater | RecordCodec {
  const { zstdCompressSync, zstdDecompressSync } = native;
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return javascriptZstd;
  return {
    id: CODEC.zstd,
    name: 'zstd',
    compress: (records) => zstdCompressSync(records),
    // Native zstd reserves a window of up to 128 MiB if a frame asks for it, but uses only the part
    // that it fills.
    inflate: (block, maxBytes) =>
      zstdDecompressSync(block, { maxOutputLength: maxBytes, chunkSize: OUTPUT_CHUNK_BYTES }),
  };
}

export const zstd = zstdOf(zlib as Partial<NativeZstd>);
