import type { BrokerRecord } from '@nest-event-bus/broker';

/** A record that intake hands to the pipeline. It belongs to one assignment of its partition. */
export interface Delivery {
  readonly record: BrokerRecord;
  /** How often this offset was handed out before in this assignment. */
  readonly redeliveries: number;
  /** How many of those failed. What was handed back is no attempt; left out, all of them count. */
  readonly failures?: number;
  /** Calls of the handler in the deliveries that failed. */
  readonly calls?: number;
  /** When it came out of the poll: milliseconds since 1970. */
  readonly receivedAt: number;
  /** Index of the session within its container. */
  readonly sessionIndex: number;
  /** Created at first access. Aborts when the partition is taken away or the drain time is over. */
  readonly signal: AbortSignal;
  /**
   * Created at first access. Aborts sooner than `signal`: as soon as the partition is asked back or
   * the session pauses or drains. A wait before another attempt ends with it (hand the record
   * back); a handler that runs goes on.
   */
  readonly waitSignal?: AbortSignal;
}
