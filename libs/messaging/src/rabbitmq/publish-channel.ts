import { ConnectionError, UnsupportedError, type BrokerError } from '@nest-event-bus/broker';
import type { Timer } from '@nest-event-bus/broker/runtime';
import {
  connect,
  type ChannelModel,
  type ConfirmChannel,
  type Message,
  type RecoveringChannelModel,
  type ServerProperties,
} from 'amqplib';
import { connectionErrorOf } from './rabbit-errors.js';
import type { RabbitMqSettings } from './rabbit-options.js';

const RETRY_CHANNEL_MS = 1_000;
const RECOVERY = { initialDelay: 100, maxDelay: 5_000, waitForConnect: false } as const;

export interface PublishChannelListener {
  /** A new channel can be used. Nothing is known about topics on it. */
  onReady(): void;
  /** The channel is gone. All its unconfirmed messages have had their callbacks. */
  onLost(): void;
  /** The connection cannot be opened. Further attempts follow. */
  onRefused(error: BrokerError): void;
  onReturned(message: Message): void;
  /** Messages may be written again, after `isWritable` was false. */
  onWritable(): void;
}

/**
 * A confirm channel on a connection of its own, which amqplib opens again whenever it is lost. Each
 * channel is used until it closes, and never again.
 */
export class PublishChannel {
  #recovering: Promise<RecoveringChannelModel> | undefined;
  #model: ChannelModel | undefined;
  #channel: ConfirmChannel | undefined;
  #refusal: unknown;
  #retry: Timer | undefined;
  #isBlocked = false;
  #isFull = false;
  #isClosed = false;

  constructor(
    private readonly settings: RabbitMqSettings,
    private readonly listener: PublishChannelListener,
  ) {}

  /** The channel in use; undefined while there is none. */
  get current(): ConfirmChannel | undefined {
    return this.#channel;
  }

  get model(): ChannelModel | undefined {
    return this.#model;
  }

  /** Why the server has closed the last channel; undefined if it has not, or another one is open. */
  get refusal(): unknown {
    return this.#refusal;
  }

  /** False while the server blocks publishers, or the socket has not taken what was written. */
  get isWritable(): boolean {
    return this.#channel !== undefined && !this.#isBlocked && !this.#isFull;
  }

  open(): void {
    if (this.#isClosed) return;
    this.#recovering ??= this.#connect();
  }

  /** Called with the result of `publish`: false means that the socket is full. */
  wrote(hasSpace: boolean): void {
    this.#isFull = !hasSpace;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry?.cancel();
    const recovering = await this.#recovering;
    await recovering?.close();
  }

  async #connect(): Promise<RecoveringChannelModel> {
    const { url, connectionTimeoutMs, place, logger } = this.settings;
    const recovering = await connect(url, { timeout: connectionTimeoutMs, recovery: RECOVERY });
    recovering.on('connect', (model) => this.#onConnected(model));
    recovering.on('disconnect', (cause) => {
      this.#model = undefined;
      logger.warn('The connection to RabbitMQ was lost. It is opened again.', { place });
      this.listener.onRefused(connectionErrorOf(cause, place));
    });
    recovering.on('connect-failed', (cause) =>
      this.listener.onRefused(connectionErrorOf(cause, place)),
    );
    recovering.on('blocked', () => {
      this.#isBlocked = true;
      logger.warn('RabbitMQ blocks publishers, because of an alarm. Messages wait.', { place });
    });
    recovering.on('unblocked', () => {
      this.#isBlocked = false;
      this.listener.onWritable();
    });
    // A listener must exist, because an `error` without one ends the process. The loss follows as
    // `disconnect`.
    recovering.on('error', () => undefined);
    return recovering;
  }

  #onConnected(model: ChannelModel): void {
    this.#model = model;
    this.#isBlocked = false;
    const unsupported = missingFeature(model.connection.serverProperties);
    if (unsupported) return this.listener.onRefused(unsupported);
    void this.#openChannel(model);
  }

  async #openChannel(model: ChannelModel): Promise<void> {
    const { place } = this.settings;
    try {
      const channel = await model.createConfirmChannel();
      // Comes before the end of the channel, but not before that of its connection.
      channel.on('error', (cause: unknown) => (this.#refusal = cause));
      channel.on('return', (message) => this.listener.onReturned(message));
      channel.on('drain', () => {
        this.#isFull = false;
        this.listener.onWritable();
      });
      // Comes before amqplib's own listener, which calls back for all unconfirmed messages: they must
      // find that the channel is gone.
      channel.prependListener('close', () => this.#onChannelClosed(channel, model));
      this.#isFull = false;
      this.#refusal = undefined;
      this.#channel = channel;
      this.listener.onReady();
    } catch (cause) {
      this.listener.onRefused(
        new ConnectionError(`A channel could not be opened at ${place}. It is tried again.`, {
          cause,
        }),
      );
      // After a lost connection its next `connect` opens the channel.
      this.#retry = this.settings.runtime.setTimer(
        () => this.#openChannelAgain(model),
        RETRY_CHANNEL_MS,
      );
    }
  }

  #openChannelAgain(model: ChannelModel): void {
    if (!this.#isClosed && this.#model === model) void this.#openChannel(model);
  }

  #onChannelClosed(channel: ConfirmChannel, model: ChannelModel): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    this.listener.onLost();
    // The server closes a channel after an error, and the connection stays. After a lost connection
    // its next `connect` opens the channel.
    this.settings.runtime.defer(() => this.#openChannelAgain(model));
  }
}

/** Returns an error if the server is too old, or another product, for confirmed messages. */
export function missingFeature(server: ServerProperties): BrokerError | undefined {
  const capabilities = (server as Readonly<Record<string, unknown>>)['capabilities'] as
    Readonly<Record<string, unknown>> | undefined;
  const missing = ['publisher_confirms', 'connection.blocked'].filter(
    (name) => capabilities?.[name] !== true,
  );
  if (missing.length === 0) return undefined;
  return new UnsupportedError(
    `The server (${server.product} ${server.version}) has no ${missing.join(' and no ')}. Use RabbitMQ 3.10 or newer.`,
  );
}
