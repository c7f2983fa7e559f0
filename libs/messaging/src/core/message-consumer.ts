import type { MessageBrokerType } from './message-broker-type.js';
import type { Message } from './message.js';

/** Handles one message. An error means that the message was not handled. */
export interface MessageHandler<T = unknown> {
  handle(message: Message<T>): void | Promise<void>;
}

/** Handles several messages together. */
export interface BatchMessageHandler<T = unknown> {
  handle(messages: Iterable<Message<T>>): void | Promise<void>;
}

/** Says what a consumer reads. Handlers of the event bus are marked with `@EventHandler`. */
export interface MessageConsumer {
  getBrokerType(): MessageBrokerType;
  getTopics(): readonly string[];
  getGroupId(): string;
}
