import { gunzipSync, gzipSync } from 'node:zlib';
import { CODEC, type RecordCodec } from './record-codec.js';

/**
 * Inflated records are several times larger than their block. Large output chunks therefore save
 * most of the calls of zlib.
 */
const OUTPUT_CHUNK_BYTES = 64 * 1024;

export const gzip: RecordCodec = {
  id: CODEC.gzip,
  name: 'gzip',
  compress: (records) => gzipSync(records),
  inflate: (block, maxBytes) =>
    gunzipSync(block, { maxOutputLength: maxBytes, chunkSize: OUTPUT_CHUNK_BYTES }),
};
