import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import { MessagingException } from '../core/messaging-exceptions.js';
import type { MessageBrokerFactory } from '../core/message-broker-factory.js';
import { Message } from '../core/message.js';
import type { MessageResult } from '../core/message-result.js';
import type { TopicNames } from '../kafka/config/topic-catalogue.js';
import type { BaseEvent } from '../kafka/events/base-event.js';

/** Publishes events with their metadata as headers, through the default broker. */
export class EventPublisherService {
  constructor(
    private readonly factory: MessageBrokerFactory,
    private readonly topics: TopicNames,
    private readonly logger: DriverLogger,
  ) {}

  /**
   * Publishes the payload of an event. The correlation id is the key. Rejects with
   * MessagingException if the event could not be sent.
   */
  async publishEvent<T>(topic: string, event: BaseEvent<T>): Promise<MessageResult> {
    const { metadata, payload } = event;
    const producer = this.factory.getDefaultProducer();
    const message = Message.of(payload, topic, metadata.correlationId, metadata.toHeaders());
    const result = await producer.send(message);
    const facts = {
      eventType: metadata.eventType,
      correlationId: metadata.correlationId,
      topic,
    };
    if (result.success) {
      this.logger.info('Event published', facts);
      return result;
    }
    this.logger.error('An event could not be published', {
      ...facts,
      error: errorReasonOf(result.cause),
    });
    throw MessagingException.sendFailed(message.id, topic, producer.getBrokerType(), result.cause);
  }

  /** Publishes an event without waiting. A failure is only logged. */
  publishInBackground<T>(topic: string, event: BaseEvent<T>): void {
    this.publishEvent(topic, event).catch((error: unknown) => {
      // A failed send was logged with the event. What is left is that there is no producer.
      if (error instanceof MessagingException) return;
      this.logger.error('An event could not be published', { topic, error: errorReasonOf(error) });
    });
  }

  publishUserEvent<T>(event: BaseEvent<T>): Promise<MessageResult> {
    return this.publishEvent(this.topics.TOPIC_USERS, event);
  }

  publishTeamEvent<T>(event: BaseEvent<T>): Promise<MessageResult> {
    return this.publishEvent(this.topics.TOPIC_TEAM_EVENTS, event);
  }

  publishAdminEvent<T>(event: BaseEvent<T>): Promise<MessageResult> {
    return this.publishEvent(this.topics.TOPIC_ADMIN_EVENTS, event);
  }

  publishOcrEvent<T>(event: BaseEvent<T>): Promise<MessageResult> {
    return this.publishEvent(this.topics.TOPIC_OCR, event);
  }
}
