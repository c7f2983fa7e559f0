import type { BrokerRecord, RecordHeader, TimestampType } from '@nest-event-bus/broker';
import { hasEventBusPrefix } from './event-bus-headers.js';

/**
 * A producer's header whose name the bus uses itself is written with this prefix, in its place. The
 * prefix is archived as well, so that one prefix is removed when the header is restored, whoever
 * wrote it.
 */
export const ARCHIVE_PREFIX = 'x-eventbus-archived-';

const PREFIX_BYTES = Buffer.from(ARCHIVE_PREFIX);

export const isArchivedHeader = ({ key }: RecordHeader): boolean => key.startsWith(ARCHIVE_PREFIX);

export function archivedHeader({ key, keyBytes, value }: RecordHeader): RecordHeader {
  const archived = { key: ARCHIVE_PREFIX + key, value };
  return keyBytes ? { ...archived, keyBytes: Buffer.concat([PREFIX_BYTES, keyBytes]) } : archived;
}

export function restoredHeader({ key, keyBytes, value }: RecordHeader): RecordHeader {
  const restored = { key: key.slice(ARCHIVE_PREFIX.length), value };
  return keyBytes ? { ...restored, keyBytes: keyBytes.subarray(PREFIX_BYTES.length) } : restored;
}

/**
 * Returns the record of a retry topic as its handler sees it: with the headers that its producer
 * wrote. Only a name that begins with `x-eventbus-`, and that the bus has written as well, is that of
 * the bus.
 */
export function withProducerHeaders(record: BrokerRecord): BrokerRecord {
  return new RetriedRecord(record);
}

/** Restores the headers at first access, as they are decoded at first access. */
class RetriedRecord implements BrokerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly timestampType: TimestampType | undefined;
  readonly leaderEpoch: number;
  readonly sizeInBytes: number;
  readonly #stored: BrokerRecord;
  #headers: readonly RecordHeader[] | undefined;

  constructor(stored: BrokerRecord) {
    this.topic = stored.topic;
    this.partition = stored.partition;
    this.offset = stored.offset;
    this.timestamp = stored.timestamp;
    this.timestampType = stored.timestampType;
    this.leaderEpoch = stored.leaderEpoch;
    this.sizeInBytes = stored.sizeInBytes;
    this.#stored = stored;
  }

  get key(): Buffer | null {
    return this.#stored.key;
  }

  get value(): Buffer | null {
    return this.#stored.value;
  }

  get headers(): readonly RecordHeader[] {
    return (this.#headers ??= withoutArchive(this.#stored.headers));
  }
}

function withoutArchive(headers: readonly RecordHeader[]): readonly RecordHeader[] {
  const archived = headers.filter(isArchivedHeader);
  if (archived.length === 0) return headers;
  const written = new Set(headers.map(({ key }) => key));
  const isKept = (name: string): boolean => hasEventBusPrefix(name) && written.has(name);
  const restored = new Set(
    archived.map((header) => restoredHeader(header).key).filter((name) => !isKept(name)),
  );
  return headers.flatMap((header) => {
    const isArchived = isArchivedHeader(header);
    if (!isArchived) return restored.has(header.key) ? [] : [header];
    const producers = restoredHeader(header);
    return [restored.has(producers.key) ? producers : header];
  });
}
