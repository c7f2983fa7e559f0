import { readBatchHeader } from './batch-validation.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

/**
 * Where a reader that starts at `position` will stand after all whole batches: what a fetcher asks
 * for next while these are still waiting to be read. Looks at headers only and never throws: at a
 * broken batch it stops, and the reader says what is wrong with it.
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
