import { declareJsonForms } from '../records/json-safe.js';

/** The position of a record in the log. In JSON, the offset is decimal text. */
export class RecordPosition {
  readonly offset: bigint;

  constructor(
    readonly topic: string,
    readonly partition: number,
    offset: number | bigint,
  ) {
    this.offset = BigInt(offset);
    Object.freeze(this);
  }

  /** Returns `orders.events-0@17`. */
  toString(): string {
    return `${this.topic}-${this.partition}@${this.offset}`;
  }

  toJSON(): Readonly<Record<string, unknown>> {
    return { topic: this.topic, partition: this.partition, offset: String(this.offset) };
  }
}

declareJsonForms(RecordPosition, { offset: String });
