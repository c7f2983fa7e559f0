import { readBatchHeader } from './batch-validation.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

/**
 * Returns the position of a reader after all complete batches, starting at `position`. A fetcher
 * requests this offset next, before the batches are read. Only headers are read, and no error is
 * thrown: the search stops at a broken batch, and the reader reports its error.
 */
export function endOfBatches(records: Buffer, position: number): number {
  let end = position;
  for (let at = 0; at < records.length;) {
    const header = headerAt(records, at);
    if (header === undefined) break;
    end = Math.max(end, header.lastOffset + 1);
    at = header.end;
  }
  return end;
}

function headerAt(records: Buffer, at: number) {
  try {
    return readBatchHeader(records, at, false);
  } catch (error) {
    if (error instanceof MalformedBytesError) return undefined;
    throw error;
  }
}
