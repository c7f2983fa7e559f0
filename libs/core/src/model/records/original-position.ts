import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from './event-bus-headers.js';
import { headerCount, headerInteger } from './header-number.js';
import { headerText } from './header-text.js';

/** The position of a record's first write. */
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

/** Kafka's limit. A longer name is no topic, and would be copied to every retry topic. */
const LONGEST_TOPIC_NAME = 249;

/** Reads the whole position or nothing: half a position would identify another record. */
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
