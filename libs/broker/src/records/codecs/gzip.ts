import { gunzipSync, gzipSync } from 'node:zlib';
import { CODEC, type RecordCodec } from './record-codec.js';

/** A block of records inflates several-fold; asking zlib for large pieces saves most of its calls. */
const INFLATE_PIECE = 64 * 1024;

export const gzip: RecordCodec = {
  id: CODEC.gzip,
  name: 'gzip',
  compress: (records) => gzipSync(records),
  inflate: (block, maxBytes) =>
    gunzipSync(block, { maxOutputLength: maxBytes, chunkSize: INFLATE_PIECE }),
};
