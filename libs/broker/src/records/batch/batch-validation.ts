import { BatchHeader } from './batch-header.js';
import { BATCH, FRAME_BYTES, MAGIC, MIN_BATCH_LENGTH } from './batch-layout.js';
import { readSafeInt64 } from '../bytes.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

/** The number of bytes needed to read the length and the format of a batch. */
const PREFIX_BYTES = BATCH.magic + 1;

/**
 * Reads and validates the header of the batch at `at`: its numbers are consistent, its CRC matches
 * (unless `checkCrc` is false), and its last offset is a safe integer. Returns undefined if the
 * batch is incomplete. Throws only MalformedBytesError.
 */
export function readBatchHeader(
  bytes: Buffer,
  at: number,
  checkCrc: boolean,
): BatchHeader | undefined {
  if (bytes.length - at < PREFIX_BYTES) return undefined;
  requireMagic(bytes, at);
  const length = bytes.readInt32BE(at + BATCH.length);
  if (length < MIN_BATCH_LENGTH) {
    throw new MalformedBytesError(
      `its length is ${length}, and no batch is shorter than ${MIN_BATCH_LENGTH}`,
    );
  }
  if (length > bytes.length - at - FRAME_BYTES) return undefined;
  const header = new BatchHeader(bytes, at);
  requireCrc(header, checkCrc);
  requireOffsets(header);
  requireCount(header);
  return header;
}

/**
 * Rejects other formats. Formats 0 and 1 store the offset of their (last) message where format 2
 * stores its base offset.
 */
function requireMagic(bytes: Buffer, at: number): void {
  const magic = bytes.readInt8(at + BATCH.magic);
  if (magic === MAGIC) return;
  if (magic !== 0 && magic !== 1) {
    throw new MalformedBytesError(`its format is ${magic}, which Kafka does not have`);
  }
  throw new MalformedBytesError(
    `it is of the old message format ${magic} (Kafka before 0.11), which this driver does not read`,
    { nextOffset: nextOffsetAfter(readSafeInt64(bytes, at + BATCH.baseOffset), 0) },
  );
}

function requireCrc(header: BatchHeader, checkCrc: boolean): void {
  if (!checkCrc || header.isCrcRight()) return;
  // Count and last offset delta confirm each other: if they agree, both are probably intact. A single field alone is not
  // trusted.
  const plausible = header.count > 0 && header.count === header.lastOffsetDelta + 1;
  throw new MalformedBytesError('its CRC-32C does not match its bytes', {
    nextOffset: plausible ? nextOffsetAfter(header.baseOffset, header.lastOffsetDelta) : undefined,
  });
}

function requireOffsets(header: BatchHeader): void {
  const { baseOffset, lastOffsetDelta } = header;
  if (lastOffsetDelta < 0 || nextOffsetAfter(baseOffset, lastOffsetDelta) === undefined) {
    throw new MalformedBytesError(
      `its offsets run from ${baseOffset} over ${lastOffsetDelta}, which is no range of offsets`,
    );
  }
}

function requireCount(header: BatchHeader): void {
  const { count, baseOffset, lastOffsetDelta } = header;
  if (count >= 0 && count <= lastOffsetDelta + 1) return;
  throw new MalformedBytesError(
    `it claims ${count} records in a range of ${lastOffsetDelta + 1} offsets`,
    { nextOffset: nextOffsetAfter(baseOffset, lastOffsetDelta) },
  );
}

function nextOffsetAfter(baseOffset: number, lastOffsetDelta: number): number | undefined {
  const next = baseOffset + lastOffsetDelta + 1;
  return baseOffset >= 0 && Number.isSafeInteger(next) ? next : undefined;
}
