/**
 * Byte positions of record batch format 2. The length is counted from byte 12. The CRC covers only
 * the bytes after the CRC, so a broker can write base offset and leader epoch without a new CRC.
 */
export const BATCH = {
  baseOffset: 0,
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  count: 57,
  records: 61,
} as const;

/** The size of base offset and length, which the length field does not include. */
export const FRAME_BYTES = 12;
/** The size of the header without the frame. No batch of format 2 has a smaller length. */
export const MIN_BATCH_LENGTH = BATCH.records - FRAME_BYTES;
export const MAGIC = 2;

export const ATTRIBUTE = {
  codec: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
  deleteHorizon: 0x40,
} as const;

/**
 * The smallest record: length, attributes, two deltas, key, value and header count take one byte
 * each.
 */
export const MIN_RECORD_BYTES = 7;
