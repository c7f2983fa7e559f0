import type { BrokerRecord } from '@nest-event-bus/broker';
import { headerText } from './header-text.js';

const ORIGINAL = Object.freeze({
  topic: 'x-eventbus-original-topic',
  partition: 'x-eventbus-original-partition',
  offset: 'x-eventbus-original-offset',
});

const DECIMAL = /^\d+$/;

/** Where the record was first written: a copy in a retry topic has the key of the original. */
export function dedupKeyOf({ topic, partition, offset, headers }: BrokerRecord): string {
  return originalKey(headers) ?? keyOf(topic, partition, offset);
}

function originalKey(headers: BrokerRecord['headers']): string | undefined {
  const topic = headerText(headers, ORIGINAL.topic);
  const partition = headerText(headers, ORIGINAL.partition);
  const offset = headerText(headers, ORIGINAL.offset);
  if (!topic || !partition || !offset) return undefined;
  return DECIMAL.test(partition) && DECIMAL.test(offset)
    ? keyOf(topic, partition, offset)
    : undefined;
}

function keyOf(topic: string, partition: string | number, offset: string | number): string {
  return `${topic}-${partition}-${offset}`;
}
