/**
 * A record header. Key and value keep their bytes, a key may occur several times, and the order is
 * preserved.
 */
export interface RecordHeader {
  readonly key: string;
  /** The bytes of a key that is not UTF-8. Its text in `key` cannot be encoded back. */
  readonly keyBytes?: Buffer;
  readonly value: Buffer | null;
}

/** Whose clock the timestamp of a record has: that of its producer, or that of the broker. */
export type TimestampType = 'CreateTime' | 'LogAppendTime';

/**
 * A record as a consumer session returns it.
 *
 * `offset` and `timestamp` are safe integers: exact up to 2^53 - 1, which one million records a
 * second reach after 285 years. A larger number is reported as an error, never rounded.
 *
 * A record never shares memory with the network buffers. A retained record keeps at most the chunk
 * of 16 KiB into which it was copied, and writing into `value` changes no other record.
 */
export interface BrokerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /**
   * Milliseconds since 1970, by the producer's clock, or by the broker's clock if the topic uses
   * LogAppendTime.
   */
  readonly timestamp: number;
  /** Says whether the producer or the broker set the timestamp. Both drivers set this field. */
  readonly timestampType?: TimestampType;
  /** The leader epoch of the record's batch; -1 if the broker did not send it. */
  readonly leaderEpoch: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The headers are decoded at first access. */
  readonly headers: readonly RecordHeader[];
  /**
   * Returns whether the record has a header with this name, without decoding the headers. Records
   * of the drivers have this method.
   */
  hasHeader?(name: Buffer): boolean;
  /** The size of key, value and headers in the log, without framing. */
  readonly sizeInBytes: number;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/**
 * A record to be written. Strings are written as UTF-8; `null` is Kafka's null, not an empty value.
 */
export interface OutgoingRecord {
  readonly topic: string;
  readonly key?: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: readonly OutgoingHeader[];
  /** Default: chosen by the key (Java-compatible murmur2) or, without a key, by the producer. */
  readonly partition?: number;
  /** Default: the producer's clock at the call of `send`. */
  readonly timestamp?: number;
}

export interface OutgoingHeader {
  readonly key: string;
  /** Written instead of `key`, so that a received header is written as it came. */
  readonly keyBytes?: Buffer;
  readonly value: Buffer | string | null;
}

export interface WrittenRecord extends TopicPartition {
  readonly offset: number;
  /** The broker's clock if the topic uses LogAppendTime, else the record's own timestamp. */
  readonly timestamp: number;
}

/**
 * The outcome of one record of a failed `send`. `unknown` means that the request was sent and no
 * response arrived. If the record is sent again, it may be written twice.
 */
export type RecordOutcome =
  | ({ readonly state: 'written' } & WrittenRecord)
  | { readonly state: 'not-written'; readonly topic: string; readonly error: Error }
  | { readonly state: 'unknown'; readonly topic: string; readonly error: Error };
