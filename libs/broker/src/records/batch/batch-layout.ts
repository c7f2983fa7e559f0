/**
 * Record batch, format 2. The length counts from byte 12 on; the CRC covers everything behind
 * itself, so base offset and leader epoch can be written by a broker without a new CRC.
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

/** Base offset and length: what the length itself does not count. */
export const FRAME_BYTES = 12;
/** The header without the frame: no batch of format 2 is shorter. */
export const MIN_BATCH_LENGTH = BATCH.records - FRAME_BYTES;
export const MAGIC = 2;

export const ATTRIBUTE = {
  codec: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
  deleteHorizon: 0x40,
} as const;

/** Length, attributes, two deltas, key, value, header count: one byte each. */
export const MIN_RECORD_BYTES = 7;
