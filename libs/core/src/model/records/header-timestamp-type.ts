import type { RecordHeader, TimestampType } from '@nest-event-bus/broker';
import { headerText } from './header-text.js';

const TYPES: readonly TimestampType[] = ['CreateTime', 'LogAppendTime'];

/** Returns the timestamp type that a header names; undefined if it names none. */
export function headerTimestampType(
  headers: readonly RecordHeader[],
  name: string,
): TimestampType | undefined {
  const text = headerText(headers, name);
  return TYPES.find((type) => type === text);
}
