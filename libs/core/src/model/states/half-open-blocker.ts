import type { TopicPartition } from '@nest-event-bus/broker';

export interface RecordPosition extends TopicPartition {
  readonly offset: number;
}

/** Which record keeps the circuit of its binding from closing, as the rest of the bus sees it. */
export interface HalfOpenBlocker {
  /** It alone has had all trial calls for several times in a row. undefined where no record has. */
  readonly record: RecordPosition | undefined;
}
