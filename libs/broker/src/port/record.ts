/** A header keeps its bytes; one key may appear several times, and the order of appearance is kept. */
export interface RecordHeader {
  readonly key: string;
  readonly value: Buffer | null;
}

/**
 * A record as a consumer session hands it out.
 *
 * `offset` and `timestamp` are safe integers: exact up to 2^53 - 1, which one million records a
 * second reach after 285 years. A broker that answers more is reported, never rounded.
 *
 * Its bytes are never shared with the network: a record that is held pins at most the small
 * chunk (16 KiB) it was copied into, and writing into `value` changes nobody else's record.
 */
export interface BrokerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since 1970: the producer's clock, or the broker's where the topic says LogAppendTime. */
  readonly timestamp: number;
  /** Leader epoch of the batch the record came in; -1 when the broker did not tell. */
  readonly leaderEpoch: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Decoded at first access. */
  readonly headers: readonly RecordHeader[];
  /** What key, value and headers take in the log, without framing. */
  readonly sizeInBytes: number;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A record on its way out. Strings are written as UTF-8; `null` is Kafka's null, not an empty value. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly key?: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: readonly OutgoingHeader[];
  /** Chosen by the key (Java-compatible murmur2) or, without one, by the sender. */
  readonly partition?: number;
  /** Default: the sender's clock when `send` was called. */
  readonly timestamp?: number;
}

export interface OutgoingHeader {
  readonly key: string;
  readonly value: Buffer | string | null;
}

export interface WrittenRecord extends TopicPartition {
  readonly offset: number;
  /** The broker's time where the topic says LogAppendTime, else the record's own. */
  readonly timestamp: number;
}

/**
 * What became of one record of a failed `send`. `unknown` means: a request left and no answer
 * told its fate; sending the record again may write it twice.
 */
export type RecordOutcome =
  | ({ readonly state: 'written' } & WrittenRecord)
  | { readonly state: 'not-written'; readonly topic: string; readonly error: Error }
  | { readonly state: 'unknown'; readonly topic: string; readonly error: Error };
