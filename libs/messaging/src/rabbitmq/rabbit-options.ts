import { InvalidOptionError, type DriverLogger } from '@nest-event-bus/broker';
import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';

export interface RabbitMqOptions {
  /** `amqp://user:password@host:port/vhost`, or `amqps://`. */
  readonly url: string;
  /** Begins the names of exchanges: topic `emails` is exchange `unraveldocs.emails`. Default none. */
  readonly exchangePrefix?: string;
  /** The longest time for opening a connection. Default 5 s. */
  readonly connectionTimeoutMs?: number;
  /**
   * How often both sides show that they are alive. A connection without an answer for twice this
   * time is closed and opened again. Default 10 s.
   */
  readonly heartbeatSeconds?: number;
  /** The number of messages that may be sent before the first is confirmed. Default 1000. */
  readonly maxUnconfirmed?: number;
  readonly runtime?: Runtime;
  readonly logger?: DriverLogger;
}

export interface RabbitMqSettings {
  /** The address with its password. It is never logged. */
  readonly url: string;
  /** The address without user and password. */
  readonly place: string;
  readonly host: string;
  readonly port: number;
  readonly exchangeOf: (topic: string) => string;
  readonly connectionTimeoutMs: number;
  readonly maxUnconfirmed: number;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

const KEYS: readonly string[] = [
  'url',
  'exchangePrefix',
  'connectionTimeoutMs',
  'heartbeatSeconds',
  'maxUnconfirmed',
  'runtime',
  'logger',
] satisfies readonly (keyof RabbitMqOptions)[];

const SILENT: DriverLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Validates the options and adds the defaults. */
export function rabbitMqSettings(options: RabbitMqOptions): RabbitMqSettings {
  const unknown = Object.keys(options).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new InvalidOptionError(
      `rabbitmq has no option "${unknown}". Known are: ${KEYS.join(', ')}.`,
    );
  const { exchangePrefix = '', runtime = realRuntime, logger = SILENT } = options;
  const url = parsedUrl(options.url);
  url.searchParams.set(
    'heartbeat',
    String(positive('heartbeatSeconds', options.heartbeatSeconds ?? 10)),
  );
  return {
    url: url.href,
    place: url.host + url.pathname,
    host: url.hostname,
    port: Number(url.port) || (url.protocol === 'amqps:' ? 5671 : 5672),
    exchangeOf: (topic) => (exchangePrefix === '' ? topic : `${exchangePrefix}.${topic}`),
    connectionTimeoutMs: positive('connectionTimeoutMs', options.connectionTimeoutMs ?? 5_000),
    maxUnconfirmed: positive('maxUnconfirmed', options.maxUnconfirmed ?? 1_000),
    runtime,
    logger,
  };
}

/** The address is not part of the message, because it may contain a password. */
function parsedUrl(given: unknown): URL {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url && /^amqps?:$/.test(url.protocol) && url.hostname !== '') return url;
  throw new InvalidOptionError(
    'rabbitmq.url must be an address such as amqp://user:password@host:5672/vhost.',
  );
}

export function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidOptionError(`rabbitmq.${name} must be a whole number of at least 1.`);
}
