import { ATTRIBUTE, BATCH, FRAME_BYTES, MAGIC, MIN_BATCH_LENGTH } from './batch-layout.js';
import { readSafeInt64 } from '../bytes.js';
import { crc32c } from '../crc32c.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';

/** The number of bytes needed to read the length and the format of a batch. */
const PREFIX_BYTES = BATCH.magic + 1;

/**
 * The header of a complete encoded batch (see `readBatchHeader`). The constructor reads the fields.
 * The getters read the bytes of the batch each time, because few callers need them. Do not use them
 * after the bytes are overwritten. Throws MalformedBytesError if a number exceeds 2^53 - 1.
 */
export class BatchHeader {
  readonly baseOffset: number;
  /** The position after the batch in `bytes`. */
  readonly end: number;
  readonly leaderEpoch: number;
  readonly attributes: number;
  readonly codec: number;
  readonly isLogAppendTime: boolean;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly lastOffsetDelta: number;
  readonly lastOffset: number;
  /**
   * The number of records. Compaction removes records but keeps the offset range, so the number may
   * be smaller than `lastOffsetDelta + 1`.
   */
  readonly count: number;

  constructor(
    readonly bytes: Buffer,
    /** The position of the batch in `bytes`. */
    readonly start = 0,
  ) {
    this.baseOffset = readSafeInt64(bytes, start + BATCH.baseOffset);
    this.end = start + FRAME_BYTES + bytes.readInt32BE(start + BATCH.length);
    this.leaderEpoch = bytes.readInt32BE(start + BATCH.leaderEpoch);
    this.attributes = bytes.readInt16BE(start + BATCH.attributes);
    this.codec = this.attributes & ATTRIBUTE.codec;
    this.isLogAppendTime = (this.attributes & ATTRIBUTE.logAppendTime) !== 0;
    this.isTransactional = (this.attributes & ATTRIBUTE.transactional) !== 0;
    this.isControl = (this.attributes & ATTRIBUTE.control) !== 0;
    this.lastOffsetDelta = bytes.readInt32BE(start + BATCH.lastOffsetDelta);
    this.lastOffset = this.baseOffset + this.lastOffsetDelta;
    this.count = bytes.readInt32BE(start + BATCH.count);
  }

  get sizeInBytes(): number {
    return this.end - this.start;
  }
  get baseTimestamp(): number {
    return readSafeInt64(this.bytes, this.start + BATCH.baseTimestamp);
  }
  get maxTimestamp(): number {
    return readSafeInt64(this.bytes, this.start + BATCH.maxTimestamp);
  }
  /** The full 64-bit id; -1n without idempotence. */
  get producerId(): bigint {
    return this.bytes.readBigInt64BE(this.start + BATCH.producerId);
  }
  get producerEpoch(): number {
    return this.bytes.readInt16BE(this.start + BATCH.producerEpoch);
  }
  get baseSequence(): number {
    return this.bytes.readInt32BE(this.start + BATCH.baseSequence);
  }
  get hasDeleteHorizon(): boolean {
    return (this.attributes & ATTRIBUTE.deleteHorizon) !== 0;
  }

  isCrcRight(): boolean {
    const stated = this.bytes.readUInt32BE(this.start + BATCH.crc);
    return stated === crc32c(this.bytes, this.start + BATCH.attributes, this.end);
  }
}

/**
 * Reads and validates the header of the batch at `at`. Its numbers must be consistent, its CRC must
 * match (unless `checkCrc` is false), and its last offset must be a safe integer. Returns undefined
 * if the batch is incomplete. Throws only MalformedBytesError.
 */
export function readBatchHeader(
  bytes: Buffer,
  at: number,
  checkCrc: boolean,
): BatchHeader | undefined {
  if (bytes.length - at < PREFIX_BYTES) return undefined;
  if (bytes.readInt8(at + BATCH.magic) !== MAGIC) throw wrongFormat(bytes, at);
  const length = bytes.readInt32BE(at + BATCH.length);
  if (length < MIN_BATCH_LENGTH) {
    throw new MalformedBytesError(
      `its length is ${length}, and no batch is shorter than ${MIN_BATCH_LENGTH}`,
    );
  }
  if (length > bytes.length - at - FRAME_BYTES) return undefined;
  const header = new BatchHeader(bytes, at);
  if (checkCrc && !header.isCrcRight()) throw wrongCrc(header);
  const { baseOffset, lastOffsetDelta, lastOffset, count } = header;
  if (lastOffsetDelta < 0 || baseOffset < 0 || !Number.isSafeInteger(lastOffset + 1)) {
    throw new MalformedBytesError(
      `its offsets run from ${baseOffset} over ${lastOffsetDelta}, which is no range of offsets`,
    );
  }
  if (count < 0 || count > lastOffsetDelta + 1) {
    throw new MalformedBytesError(
      `it claims ${count} records in a range of ${lastOffsetDelta + 1} offsets`,
      { nextOffset: lastOffset + 1 },
    );
  }
  return header;
}

/**
 * Returns the position of a reader after all complete batches, starting at `position`. A fetcher
 * requests this offset next, before the batches are read. Only headers are read, and no error is
 * thrown: the search stops at a broken batch, and the reader reports its error.
 */
export function endOfBatches(records: Buffer, position: number): number {
  let end = position;
  try {
    for (let at = 0; at < records.length;) {
      const header = readBatchHeader(records, at, false);
      if (header === undefined) break;
      end = Math.max(end, header.lastOffset + 1);
      at = header.end;
    }
  } catch (error) {
    if (!(error instanceof MalformedBytesError)) throw error;
  }
  return end;
}

/**
 * Formats 0 and 1 store the offset of their (last) message at the position of the base offset in
 * format 2.
 */
function wrongFormat(bytes: Buffer, at: number): MalformedBytesError {
  const magic = bytes.readInt8(at + BATCH.magic);
  if (magic !== 0 && magic !== 1) {
    return new MalformedBytesError(`its format is ${magic}, which Kafka does not have`);
  }
  return new MalformedBytesError(
    `it is of the old message format ${magic} (Kafka before 0.11), which this driver does not read`,
    { nextOffset: nextOffsetAfter(readSafeInt64(bytes, at + BATCH.baseOffset), 0) },
  );
}

/**
 * If the record count and the last offset delta agree, both are probably intact. A single field is
 * not trusted, because the CRC does not match.
 */
function wrongCrc({ count, baseOffset, lastOffsetDelta }: BatchHeader): MalformedBytesError {
  const plausible = count > 0 && count === lastOffsetDelta + 1;
  return new MalformedBytesError('its CRC-32C does not match its bytes', {
    nextOffset: plausible ? nextOffsetAfter(baseOffset, lastOffsetDelta) : undefined,
  });
}

function nextOffsetAfter(baseOffset: number, lastOffsetDelta: number): number | undefined {
  const next = baseOffset + lastOffsetDelta + 1;
  return baseOffset >= 0 && Number.isSafeInteger(next) ? next : undefined;
}
