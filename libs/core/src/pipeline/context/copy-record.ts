import type { BrokerRecord } from '@nest-event-bus/broker';
import { copyBytes, copyHeader } from '../../model/records/copy-header.js';

/**
 * Returns a record with a copy of all bytes, so that writing into them does not change the
 * original.
 */
export function copyRecord(record: BrokerRecord): BrokerRecord {
  const { topic, partition, offset, timestamp, timestampType, leaderEpoch, sizeInBytes } = record;
  return {
    topic,
    partition,
    offset,
    timestamp,
    timestampType,
    leaderEpoch,
    sizeInBytes,
    key: copyBytes(record.key),
    value: copyBytes(record.value),
    headers: record.headers.map(copyHeader),
  };
}
