import { IllegalArgumentError } from '@nest-event-bus/core';
import type { MessageBrokerType } from './message-broker-type.js';
import { Message } from './message.js';
import type { MessageResult } from './message-result.js';

/** Sends messages to one broker. MessageBrokerFactory finds every provider of this type. */
export abstract class MessageProducer {
  abstract getBrokerType(): MessageBrokerType;

  /** False if the broker is switched off. MessageBrokerFactory then leaves the producer out. */
  isEnabled(): boolean {
    return true;
  }

  /**
   * Sends a message. The promise never rejects: a failure is a result, so that a caller may ignore
   * the promise. Arguments that make no message throw at once.
   */
  send<T>(message: Message<T>): Promise<MessageResult>;
  send(payload: unknown, topic: string, key?: string | null): Promise<MessageResult>;
  send(content: unknown, topic?: string, key?: string | null): Promise<MessageResult> {
    return this.deliver(messageOf(content, topic, key));
  }

  /**
   * Sends a message and waits for its acknowledgement. Rejects with MessagingException after a
   * failure or the time-out. A message whose send timed out may still be written later.
   */
  abstract sendAndWait<T>(message: Message<T>): Promise<MessageResult>;

  /** Sends a message. Resolves with a failure instead of rejecting. */
  protected abstract deliver(message: Message): Promise<MessageResult>;
}

function messageOf(content: unknown, topic?: string, key?: string | null): Message {
  if (topic !== undefined) return Message.of(content, topic, key);
  if (content instanceof Message) return content;
  throw new IllegalArgumentError('send needs a Message, or a payload and a topic.');
}
