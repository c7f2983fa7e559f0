import type { BrokerRecord, RecordHeader } from '@nest-event-bus/broker';

/** Returns a record with bytes of its own. Writing into them does not change the original. */
export function copyRecord(record: BrokerRecord): BrokerRecord {
  const { topic, partition, offset, timestamp, leaderEpoch, key, value, headers, sizeInBytes } =
    record;
  return {
    topic,
    partition,
    offset,
    timestamp,
    leaderEpoch,
    sizeInBytes,
    key: copyBytes(key),
    value: copyBytes(value),
    headers: headers.map((header): RecordHeader => ({
      key: header.key,
      value: copyBytes(header.value),
    })),
  };
}

function copyBytes(bytes: Buffer | null): Buffer | null {
  return bytes && Buffer.from(bytes);
}
