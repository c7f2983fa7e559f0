import type { KafkaMetrics } from '@nest-event-bus/core';
import type { MessageBrokerType } from '../../core/message-broker-type.js';
import type { Message } from '../../core/message.js';
import { MessageProducer } from '../../core/message-producer.js';
import { MessageResult } from '../../core/message-result.js';
import { IllegalStateException, MessagingException } from '../../core/messaging-exceptions.js';
import { outgoingMessage, type PayloadTypes } from './outgoing-message.js';
import type { RecordSender } from './record-sender.js';

export interface ProducerParts {
  /** Undefined if the broker is switched off or not configured. */
  readonly sender: RecordSender | undefined;
  readonly metrics: KafkaMetrics;
  readonly sendTimeoutMs: number;
  readonly types: PayloadTypes;
}

/** Sends messages with the driver of a broker. */
export abstract class BrokerMessageProducer extends MessageProducer {
  #isClosed = false;

  constructor(
    private readonly type: MessageBrokerType,
    private readonly parts: ProducerParts,
  ) {
    super();
  }

  override getBrokerType(): MessageBrokerType {
    return this.type;
  }

  override isEnabled(): boolean {
    return this.parts.sender !== undefined;
  }

  override async sendAndWait<T>(message: Message<T>): Promise<MessageResult> {
    const result = await this.deliver(message);
    if (result.success) return result;
    const cause = result.cause ?? new IllegalStateException(result.errorMessage ?? '');
    throw MessagingException.sendFailed(message.id, message.topic, this.type, cause);
  }

  /** Waits for messages in flight, and refuses later ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.parts.sender?.close();
  }

  protected override async deliver(message: Message): Promise<MessageResult> {
    const { metrics, sendTimeoutMs, types } = this.parts;
    const { id, topic } = message;
    const timer = metrics.startSendTimer();
    try {
      const record = outgoingMessage(message, types);
      const written = await this.#sender().send(record, sendTimeoutMs);
      metrics.recordMessageSent(topic);
      // A broker without offsets answers with a negative one.
      return written === undefined || written.offset < 0
        ? MessageResult.success(id, topic)
        : MessageResult.success(id, topic, written.partition, written.offset);
    } catch (error) {
      metrics.recordMessageFailed(topic);
      return MessageResult.failure(id, topic, error);
    } finally {
      metrics.stopSendTimer(timer, topic);
    }
  }

  #sender(): RecordSender {
    const { sender } = this.parts;
    if (this.#isClosed)
      throw new IllegalStateException(
        `The producer for ${this.type} is closed. Send before the application has shut down.`,
      );
    if (sender) return sender;
    throw new IllegalStateException(
      `Messaging via ${this.type} is switched off. Give MessagingModule this broker, and check messaging.enabled.`,
    );
  }
}
