import { realRuntime } from '@nest-event-bus/broker/runtime';

/** What became of a message. It is frozen. */
export class MessageResult {
  private constructor(
    readonly success: boolean,
    readonly messageId: string,
    readonly topic: string,
    /** Null if the broker has no partitions, and after a failure. */
    readonly partition: number | null,
    /** Null if the broker has no offsets, and after a failure. Text, because it has 64 bits. */
    readonly offset: string | null,
    /** Time of the result in milliseconds since 1970. */
    readonly timestamp: number,
    /** Null after a success. */
    readonly errorMessage: string | null,
    /** The error of a failure, if there was one. */
    readonly cause: unknown,
  ) {
    Object.freeze(this);
  }

  static success(
    messageId: string,
    topic: string,
    partition: number | null = null,
    offset: number | bigint | string | null = null,
  ): MessageResult {
    const text = offset === null ? null : String(offset);
    const now = realRuntime.now();
    return new MessageResult(true, messageId, topic, partition, text, now, null, undefined);
  }

  /** Takes the message of an exception, or a text. */
  static failure(messageId: string, topic: string, error: unknown): MessageResult {
    const cause = typeof error === 'string' ? undefined : error;
    const text = error instanceof Error ? error.message : String(error);
    const now = realRuntime.now();
    return new MessageResult(false, messageId, topic, null, null, now, text, cause);
  }
}
