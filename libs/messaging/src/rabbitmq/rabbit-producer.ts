import {
  AuthenticationError,
  AuthorizationError,
  BufferFullError,
  ClosedError,
  ConnectionError,
  InvalidOptionError,
  RecordTooLargeError,
  RefusedError,
  RequestTimeoutError,
  SendError,
  UnknownTopicError,
  UnsupportedError,
  errorSentenceOf,
  type BrokerError,
  type OutgoingRecord,
  type ProducerOptions,
  type ProducerSession,
  type RecordOutcome,
  type SendOptions,
  type Transaction,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { resolvesWithin } from '@nest-event-bus/broker/runtime';
import type { ConfirmChannel, Message } from 'amqplib';
import { ExchangeChecks } from './exchange-checks.js';
import { PublishChannel } from './publish-channel.js';
import { connectionErrorOf, refusalOf } from './rabbit-errors.js';
import type { RabbitMqSettings } from './rabbit-options.js';
import { amqpMessage, type AmqpMessage } from './record-codec.js';

export interface PublishLimits {
  readonly deliveryTimeoutMs: number;
  readonly bufferBytes: number;
  readonly maxRequestBytes: number;
}

/** One message from `send` to its outcome. */
interface Publish {
  readonly topic: string;
  readonly message: AmqpMessage;
  readonly settle: (outcome: RecordOutcome) => void;
  readonly timestamp: number;
  /** Id on the channel; undefined until the message is written. */
  id: string | undefined;
  /** The text of the server if no queue took the message. */
  returned: string | undefined;
  isSettled: boolean;
  /** Removes the timer and the listener of the signal. */
  release: () => void;
}

/** RabbitMQ has neither partitions nor offsets. */
const NO_PLACE = { partition: 0, offset: -1 } as const;

const CLOSE_WAIT_MS = 10_000;

/**
 * Publishes records as persistent messages. A record is written when RabbitMQ has confirmed that
 * every queue has it. It is never sent twice: what was sent and not confirmed is `unknown`.
 */
export class RabbitProducer implements ProducerSession {
  readonly #waiting: Publish[] = [];
  readonly #unconfirmed = new Map<string, Publish>();
  readonly #channel: PublishChannel;
  readonly #checks: ExchangeChecks;
  readonly #sends = new Set<Promise<unknown>>();
  #bytes = 0;
  /** Ids of messages begin with it, because a consumer may see those of several producers. */
  readonly #idPrefix: string;
  #ids = 0;
  #isPumping = false;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  #connectError: BrokerError | undefined;

  constructor(
    private readonly settings: RabbitMqSettings,
    private readonly limits: PublishLimits,
  ) {
    this.#idPrefix = settings.runtime.uuid();
    this.#channel = new PublishChannel(settings, {
      onReady: () => {
        this.#checks.forget();
        this.#connectError = undefined;
        this.#pump();
      },
      onLost: () => this.#checks.forget(),
      onRefused: (error) => this.#onRefused(error),
      onReturned: (message) => this.#onReturned(message),
      onWritable: () => this.#pump(),
    });
    this.#checks = new ExchangeChecks(settings, {
      model: () => this.#channel.model,
      onKnown: () => this.#pump(),
      onRefused: (topic, error) => {
        for (const publish of this.#waiting.filter((each) => each.topic === topic))
          this.#fail(publish, error);
        this.#pump();
      },
    });
  }

  async send(
    records: readonly OutgoingRecord[],
    { timeoutMs = this.limits.deliveryTimeoutMs, signal }: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (records.length === 0) return [];
    const limitMs = Math.min(timeoutMs, this.limits.deliveryTimeoutMs);
    const sent = records.map((record) => this.#enqueue(record, limitMs, signal));
    this.#channel.open();
    this.#pump();
    const settled = Promise.all(sent);
    this.#sends.add(settled);
    const outcomes = await settled;
    this.#sends.delete(settled);
    const written = outcomes.filter((outcome) => outcome.state === 'written');
    if (written.length === outcomes.length) return written;
    throw sendError(outcomes);
  }

  transaction(): Promise<Transaction> {
    const text =
      'RabbitMQ has no transactions over several topics. Use Kafka, or send without one.';
    return Promise.reject(new UnsupportedError(text));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    const { runtime } = this.settings;
    if (this.#sends.size > 0)
      await resolvesWithin(runtime, CLOSE_WAIT_MS, Promise.all(this.#sends));
    await this.#channel.close();
    for (const publish of [...this.#waiting, ...this.#unconfirmed.values()])
      this.#fail(publish, closedError());
  }

  #enqueue(
    record: OutgoingRecord,
    limitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<RecordOutcome> {
    const { topic } = record;
    const timestamp = record.timestamp ?? this.settings.runtime.now();
    let message: AmqpMessage;
    try {
      message = this.#accepted(record, timestamp, signal);
    } catch (error) {
      return Promise.resolve({ state: 'not-written', topic, error: error as Error });
    }
    return new Promise((resolve) => {
      const publish: Publish = {
        topic,
        message,
        timestamp,
        settle: resolve,
        id: undefined,
        returned: undefined,
        isSettled: false,
        release: () => undefined,
      };
      const { runtime } = this.settings;
      const timer = runtime.setTimer(() => this.#fail(publish, this.#timedOut(limitMs)), limitMs);
      const onAbort = (): void => this.#cancel(publish, signal?.reason as Error);
      signal?.addEventListener('abort', onAbort, { once: true });
      publish.release = () => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      this.#bytes += message.sizeInBytes;
      this.#waiting.push(publish);
    });
  }

  /** Throws if the record cannot be sent, or does not fit into the buffer. */
  #accepted(
    record: OutgoingRecord,
    timestamp: number,
    signal: AbortSignal | undefined,
  ): AmqpMessage {
    if (this.#isClosed) throw closedError();
    if (signal?.aborted) throw signal.reason as Error;
    if ((record.partition ?? 0) !== 0)
      throw new InvalidOptionError('RabbitMQ has no partitions. Leave the partition out.');
    const message = amqpMessage(record, timestamp);
    const { bufferBytes, maxRequestBytes } = this.limits;
    if (message.sizeInBytes > maxRequestBytes)
      throw new RecordTooLargeError(
        `A message for topic "${record.topic}" has ${message.sizeInBytes} bytes, and ${maxRequestBytes} are allowed. Send less, or raise maxRequestBytes.`,
      );
    if (this.#bytes + message.sizeInBytes > bufferBytes)
      throw new BufferFullError(
        `The messages that wait for RabbitMQ fill the buffer of ${bufferBytes} bytes. Send more slowly, or check the server.`,
        { cause: this.#connectError },
      );
    return message;
  }

  /** Publishes what waits, in order, until the channel or the window is full. */
  #pump(): void {
    if (this.#isPumping) return;
    if (this.#connectError && isFinal(this.#connectError))
      return this.#failWaiting(this.#connectError);
    this.#isPumping = true;
    try {
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        const channel = this.#channel.current;
        const hasSpace = this.#unconfirmed.size < this.settings.maxUnconfirmed;
        if (!channel || !this.#channel.isWritable || !hasSpace) return;
        if (!this.#checks.isKnown(next.topic)) return;
        this.#waiting.shift();
        this.#publish(next, channel);
      }
    } finally {
      this.#isPumping = false;
    }
  }

  #publish(publish: Publish, channel: ConfirmChannel): void {
    const id = `${this.#idPrefix}-${this.#ids++}`;
    const { content, headers, timestamp } = publish.message;
    const options = { mandatory: true, persistent: true, messageId: id, headers, timestamp };
    publish.id = id;
    this.#unconfirmed.set(id, publish);
    try {
      const hasSpace = channel.publish(
        this.settings.exchangeOf(publish.topic),
        '',
        content,
        options,
        (error: unknown) => this.#onConfirmed(publish, error),
      );
      this.#channel.wrote(hasSpace);
    } catch (cause) {
      // amqplib encodes before it writes, so nothing has left this process.
      this.#settle(publish, notWritten(publish, unencodable(cause)));
    }
  }

  #onConfirmed(publish: Publish, error: unknown): void {
    this.#unconfirmed.delete(publish.id ?? '');
    if (!error && publish.returned === undefined)
      this.#settle(publish, {
        state: 'written',
        topic: publish.topic,
        ...NO_PLACE,
        timestamp: publish.timestamp,
      });
    else if (!error) this.#settle(publish, notWritten(publish, unroutable(publish)));
    // Other queues of the exchange may have taken the message.
    else if (this.#channel.current) this.#settle(publish, unknown(publish, nacked(publish)));
    else this.#settle(publish, unknown(publish, this.#lostError(error)));
    this.#pump();
  }

  /** The channel is gone: the server has closed it, or the connection was lost. */
  #lostError(error: unknown): BrokerError {
    const { refusal } = this.#channel;
    return refusal === undefined
      ? connectionErrorOf(error, this.settings.place)
      : refusalOf(refusal, 'publish a message, and has closed its channel');
  }

  /** RabbitMQ sends the return of a message before its confirmation. */
  #onReturned({ properties, fields }: Message): void {
    const publish = this.#unconfirmed.get(String(properties.messageId));
    const { replyText } = fields as unknown as { readonly replyText?: string };
    if (publish) publish.returned = replyText ?? 'NO_ROUTE';
  }

  /** Fails what waits only if waiting cannot help: wrong credentials, or an unsuitable server. */
  #onRefused(error: BrokerError): void {
    this.#connectError = error;
    if (isFinal(error)) this.#failWaiting(error);
  }

  #failWaiting(error: Error): void {
    for (const publish of [...this.#waiting]) this.#fail(publish, error);
  }

  #timedOut(limitMs: number): BrokerError {
    return new RequestTimeoutError(
      `RabbitMQ at ${this.settings.place} has not confirmed the message within ${limitMs} ms. Check the server, its alarms, and the connection.`,
      { cause: this.#connectError },
    );
  }

  /** A message in flight is completed, and reported with its outcome. */
  #cancel(publish: Publish, reason: Error): void {
    if (publish.id === undefined) this.#fail(publish, reason);
  }

  /**
   * Ends a message. One that was sent keeps its place in the window until RabbitMQ confirms it, or
   * its channel is closed.
   */
  #fail(publish: Publish, error: Error): void {
    const at = this.#waiting.indexOf(publish);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.#settle(
      publish,
      publish.id === undefined ? notWritten(publish, error) : unknown(publish, error),
    );
  }

  #settle(publish: Publish, outcome: RecordOutcome): void {
    if (outcome.state === 'not-written' && publish.id !== undefined)
      this.#unconfirmed.delete(publish.id);
    if (publish.isSettled) return;
    publish.isSettled = true;
    publish.release();
    this.#bytes -= publish.message.sizeInBytes;
    publish.settle(outcome);
  }
}

/** Waiting cannot help: only somebody who changes the options or the server can. */
const isFinal = (error: Error): boolean =>
  error instanceof AuthenticationError ||
  error instanceof AuthorizationError ||
  error instanceof UnsupportedError;

const notWritten = ({ topic }: Publish, error: Error): RecordOutcome => ({
  state: 'not-written',
  topic,
  error,
});

const unknown = ({ topic }: Publish, error: Error): RecordOutcome => ({
  state: 'unknown',
  topic,
  error,
});

const unroutable = ({ topic, returned }: Publish): BrokerError =>
  new UnknownTopicError(
    topic,
    `No queue takes messages of topic "${topic}" (${returned}). Start a consumer, or bind a queue to its exchange.`,
  );

const nacked = ({ topic }: Publish): BrokerError =>
  new RefusedError(
    `A queue of topic "${topic}" has not taken a message: it is full, or has no leader. Other queues may have the message. Send it again later if its consumers handle duplicates.`,
    true,
  );

const closedError = (): BrokerError =>
  new ClosedError('The producer for RabbitMQ is closed. Send before it is closed.');

function unencodable(cause: unknown): BrokerError {
  if (cause instanceof RangeError)
    return new RecordTooLargeError(
      'The headers of the message have more than 64 KiB. Send shorter headers.',
      { cause },
    );
  return new ConnectionError('The message could not be written. Send it again.', { cause });
}

function sendError(outcomes: readonly RecordOutcome[]): SendError {
  const errors = outcomes.flatMap((each) => (each.state === 'written' ? [] : [each.error]));
  const [first] = errors;
  const isRetriable = errors.every(
    (error) => (error as { readonly retriable?: unknown }).retriable === true,
  );
  return new SendError(
    outcomes,
    `${errors.length} of ${outcomes.length} messages were not confirmed. ${errorSentenceOf(first)}`,
    isRetriable,
    { cause: first },
  );
}

/** Validates the options of a producer. Batches have no counterpart: each message is confirmed. */
export function publishLimits(options: ProducerOptions): PublishLimits {
  const { compression = 'none', transactionalId, deliveryTimeoutMs = 120_000 } = options;
  if (compression !== 'none')
    throw new InvalidOptionError(
      `RabbitMQ does not compress, so producer.compression '${compression}' is not possible. Leave it out.`,
    );
  if (transactionalId !== undefined)
    throw new UnsupportedError('RabbitMQ has no transactional id. Leave transactionalId out.');
  const { bufferBytes = 33_554_432, maxRequestBytes = 1_048_576 } = options;
  return { deliveryTimeoutMs, bufferBytes, maxRequestBytes };
}
