import type { WrittenRecord } from '@nest-event-bus/broker';
import { declareJsonForms } from '../model/records/json-safe.js';

/** Position of an event that all in-sync replicas have. */
export interface PublishedEvent {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
  /** The offset is decimal text, so that a controller may return the event. */
  toJSON(): Readonly<Record<string, unknown>>;
}

export function createPublishedEvent(written: WrittenRecord): PublishedEvent {
  return new EventPosition(written);
}

class EventPosition implements PublishedEvent {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;

  constructor({ topic, partition, offset, timestamp }: WrittenRecord) {
    this.topic = topic;
    this.partition = partition;
    this.offset = BigInt(offset);
    this.timestamp = timestamp;
  }

  toJSON(): Readonly<Record<string, unknown>> {
    const { topic, partition, offset, timestamp } = this;
    return { topic, partition, offset: String(offset), timestamp };
  }
}

declareJsonForms(EventPosition, { offset: String });
