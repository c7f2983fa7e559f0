import { UnknownTopicError, type BrokerError } from '@nest-event-bus/broker';
import type { ChannelModel } from 'amqplib';
import { NOT_FOUND, refusalOf, replyCodeOf } from './rabbit-errors.js';
import type { RabbitMqSettings } from './rabbit-options.js';

export interface ExchangeChecksParts {
  readonly model: () => ChannelModel | undefined;
  /** One more exchange is known to exist. */
  readonly onKnown: () => void;
  readonly onRefused: (topic: string, error: BrokerError) => void;
}

/**
 * Knows which exchanges exist. A message for a missing exchange closes its channel, and with it the
 * confirmations of all other messages. So each exchange is looked for once per connection, on a
 * channel of its own.
 */
export class ExchangeChecks {
  #known = new Set<string>();
  #asked = new Set<string>();

  constructor(
    private readonly settings: RabbitMqSettings,
    private readonly parts: ExchangeChecksParts,
  ) {}

  /** Returns true if the exchange exists. Otherwise asks for it, and tells the answer later. */
  isKnown(topic: string): boolean {
    if (this.#known.has(topic)) return true;
    const model = this.parts.model();
    if (model && !this.#asked.has(topic)) void this.#ask(topic, model);
    return false;
  }

  /** Forgets all answers, also those of checks that are still running. */
  forget(): void {
    this.#known = new Set();
    this.#asked = new Set();
  }

  async #ask(topic: string, model: ChannelModel): Promise<void> {
    const known = this.#known;
    const asked = this.#asked;
    asked.add(topic);
    const error = await errorOfCheck(model, this.settings.exchangeOf(topic));
    asked.delete(topic);
    // The connection was lost meanwhile: whoever waits asks again on the next one.
    if (known !== this.#known) return;
    if (error === undefined) {
      known.add(topic);
      this.parts.onKnown();
    } else this.parts.onRefused(topic, checkErrorOf(topic, error));
  }
}

/** Returns undefined if the exchange exists. The channel is closed by a refusal. */
async function errorOfCheck(model: ChannelModel, exchange: string): Promise<unknown> {
  try {
    const channel = await model.createChannel();
    channel.on('error', () => undefined);
    await channel.checkExchange(exchange);
    await channel.close();
    return undefined;
  } catch (error) {
    return error;
  }
}

const checkErrorOf = (topic: string, cause: unknown): BrokerError =>
  replyCodeOf(cause) === NOT_FOUND
    ? new UnknownTopicError(
        topic,
        `Topic "${topic}" has no exchange on RabbitMQ. Create it: MessagingModule does so at the start with provisioning 'create'.`,
        { cause },
      )
    : refusalOf(cause, `look for the exchange of topic "${topic}"`);
