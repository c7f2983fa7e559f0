import type { BrokerRecord } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import {
  EVENTBUS_POSITION,
  headerPosition,
  type OriginalPosition,
} from '../../model/records/original-position.js';
import { isReplay, readRetryHistory } from '../../model/records/retry-history.js';

/**
 * Returns `dedupKey` of the EventContext: the position at which the record was first written. A
 * copy in a retry topic has the same key as the original.
 */
export function dedupKeyOf(record: BrokerRecord, tier: number): string {
  return positionKey(readRetryHistory(record, tier).original);
}

function positionKey({ topic, partition, offset }: OriginalPosition): string {
  return `${topic}-${partition}-${offset}`;
}

/**
 * Returns the default key of the idempotency store: the position where the record was first
 * written, and its timestamp. A copy in a retry topic has the key of the original. The timestamp
 * distinguishes it from an earlier record with the same offset, if the topic was recreated or the
 * log was truncated: the mark of the earlier one must not hide it. Headers about the original
 * position count only for the topic of this binding, and on the main topic only for a replay. An
 * application that copies headers from one event to another must not make two records one.
 */
export function storeKeyOf(record: BrokerRecord, topic: string): string {
  const { headers, offset, partition } = record;
  const own = `${record.topic}-${partition}-${offset}`;
  const isSame =
    record.topic === topic
      ? isReplay(record)
      : headerText(headers, EVENTBUS_HEADERS.originalTopic) === topic;
  const stated = isSame ? headerPosition(headers, EVENTBUS_POSITION) : undefined;
  const original = stated ? positionKey(stated) : own;
  return original === own
    ? `${own}@${record.timestamp}`
    : `${original}@${headerText(headers, EVENTBUS_HEADERS.originalTimestamp) ?? ''}`;
}
