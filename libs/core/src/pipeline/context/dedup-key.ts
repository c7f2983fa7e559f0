import type { BrokerRecord } from '@nest-event-bus/broker';
import type { OriginalPosition } from '../../model/records/original-position.js';
import { readRetryHistory } from '../../model/records/retry-history.js';

/**
 * Returns the position where the record was first written. A copy in a retry topic has the key of
 * the original.
 */
export function dedupKeyOf(record: BrokerRecord, tier: number): string {
  return positionKey(readRetryHistory(record, tier).original);
}

export function positionKey({ topic, partition, offset }: OriginalPosition): string {
  return `${topic}-${partition}-${offset}`;
}
