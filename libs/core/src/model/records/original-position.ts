import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from './event-bus-headers.js';
import { headerCount, headerInteger } from './header-number.js';
import { headerText } from './header-text.js';

/** The position at which a record was first written. */
export interface OriginalPosition {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** Names of the headers that hold a position. */
export interface PositionHeaders {
  readonly topic: string;
  readonly partition: string;
  readonly offset: string;
}

export const EVENTBUS_POSITION: PositionHeaders = Object.freeze({
  topic: EVENTBUS_HEADERS.originalTopic,
  partition: EVENTBUS_HEADERS.originalPartition,
  offset: EVENTBUS_HEADERS.originalOffset,
});

/**
 * Kafka's limit for topic names. A header with a longer value is ignored: it names no topic, and
 * would be copied into every retry record.
 */
const LONGEST_TOPIC_NAME = 249;

/**
 * Returns the whole position, or undefined if a part is missing. Parts of different positions would
 * identify another record.
 */
export function headerPosition(
  headers: readonly RecordHeader[],
  names: PositionHeaders,
): OriginalPosition | undefined {
  const topic = headerText(headers, names.topic);
  const partition = headerCount(headers, names.partition);
  const offset = headerInteger(headers, names.offset);
  if (!topic || topic.length > LONGEST_TOPIC_NAME) return undefined;
  if (partition === undefined || partition > 0x7fffffff) return undefined;
  return offset === undefined || offset < 0n ? undefined : { topic, partition, offset };
}
