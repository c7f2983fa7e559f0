import { EventBusException } from '@nest-event-bus/core';
import type { MessageBrokerType } from './message-broker-type.js';

/** A message could not be sent or received. */
export class MessagingException extends EventBusException {
  readonly code = 'MESSAGING';
  readonly retriable: boolean;

  constructor(
    message: string,
    cause?: unknown,
    readonly brokerType?: MessageBrokerType,
    readonly messageId?: string,
    readonly topic?: string,
  ) {
    super(message, { cause });
    this.retriable = isRetriable(cause);
  }

  static sendFailed(
    messageId: string,
    topic: string,
    broker: MessageBrokerType,
    cause?: unknown,
  ): MessagingException {
    const text = `Failed to send message ${messageId} to topic ${topic} via ${broker}`;
    return new MessagingException(text, cause, broker, messageId, topic);
  }

  static receiveFailed(
    topic: string,
    broker: MessageBrokerType,
    cause?: unknown,
  ): MessagingException {
    const text = `Failed to receive message from topic ${topic} via ${broker}`;
    return new MessagingException(text, cause, broker, undefined, topic);
  }
}

/** Messaging cannot do this now: no producer is there, or the module is closed. */
export class IllegalStateException extends EventBusException {
  readonly code = 'MESSAGING_STATE';
  readonly retriable = false;
}

/** An option of MessagingModule contradicts another one, or what a broker can do. */
export class MessagingConfigurationException extends EventBusException {
  readonly code = 'MESSAGING_CONFIGURATION';
  readonly retriable = false;
}

/** Another attempt may help unless the cause says that it does not. */
function isRetriable(cause: unknown): boolean {
  const given = (cause as { readonly retriable?: unknown } | null | undefined)?.retriable;
  return typeof given === 'boolean' ? given : true;
}
