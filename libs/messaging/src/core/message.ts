import { realRuntime } from '@nest-event-bus/broker/runtime';
import { IllegalArgumentError } from '@nest-event-bus/core';

/** Headers of a message: text by name. */
export type MessageHeaders = Readonly<Record<string, string>>;

/** A message of any broker. It is frozen, and its headers are a frozen copy. */
export class Message<T = unknown> {
  private constructor(
    readonly id: string,
    readonly payload: T,
    readonly topic: string,
    readonly key: string | null,
    readonly headers: MessageHeaders,
    /** Milliseconds since 1970. */
    readonly timestamp: number,
  ) {
    Object.freeze(this);
  }

  /** Creates a message with a new id and the current time. Its headers are copied. */
  static of<T>(
    payload: T,
    topic: string,
    key: string | null = null,
    headers: MessageHeaders = {},
  ): Message<T> {
    checkTopic(topic);
    if (key !== null && typeof key !== 'string')
      throw new IllegalArgumentError(`A message key must be text or null; got ${typeof key}.`);
    const copied = copyHeaders(headers);
    return new Message(realRuntime.uuid(), payload, topic, key, copied, realRuntime.now());
  }

  /** Returns a copy for another topic, with the same id and timestamp. */
  withTopic(topic: string): Message<T> {
    checkTopic(topic);
    return new Message(this.id, this.payload, topic, this.key, this.headers, this.timestamp);
  }

  /** Returns a copy with another key, with the same id and timestamp. */
  withKey(key: string | null): Message<T> {
    return new Message(this.id, this.payload, this.topic, key, this.headers, this.timestamp);
  }
}

function checkTopic(topic: unknown): void {
  if (typeof topic === 'string' && topic !== '') return;
  throw new IllegalArgumentError('A message needs a topic: pass its name as the second argument.');
}

function copyHeaders(headers: MessageHeaders): MessageHeaders {
  const invalid = Object.entries(headers).find(([, value]) => typeof value !== 'string');
  if (invalid)
    throw new IllegalArgumentError(
      `Header '${invalid[0]}' must be text; got ${typeof invalid[1]}. Convert it before.`,
    );
  return Object.freeze({ ...headers });
}
