import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { BrokerDriver, Compression } from '@nest-event-bus/broker';
import type { SaslOptions } from '@nest-event-bus/broker/kafkajs';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ByBinding } from '../../model/states/event-bus-bindings.js';
import type { Duration } from '../reading/duration.js';
import type { ErrorClass } from '../error-matching/error-matcher.js';
import { IsErrorTypes } from '../error-matching/error-types.js';
import { isLoadedOptions, type LoadedOptions } from '../reading/loaded-options.js';
import {
  IsDuration,
  IsFlag,
  IsMapOf,
  IsNested,
  IsOneOf,
  IsReference,
  IsText,
  IsTextOrTexts,
  IsWholeNumber,
} from './property-decorators.js';
import { SASL_KEYS, TLS_KEYS } from './security-keys.js';
import { BindingDefaults, TopicBindingProperties } from './topic-binding-properties.js';

export { BindingDefaults };

const BROKERS = "one or several addresses: 'host:port', 'host:port,host:port' or a list of them";

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  isObject(value) &&
  names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');

const IsDriver = (): PropertyDecorator =>
  IsReference('a broker driver, such as memory() of @nest-event-bus/broker/memory', (value) =>
    hasMethods(value, ['consumer', 'producer', 'admin', 'close']),
  );

/**
 * Configures the producer of `EventPublisher`. Records for retry and dead-letter topics have
 * another producer, which these options do not change.
 */
export class ClusterProducerProperties {
  /**
   * Sets the compression of published events. Every consumer of the topics must support it.
   *
   * @defaultValue `'none'`
   */
  @IsOneOf(['none', 'gzip', 'snappy', 'lz4', 'zstd'])
  compression?: Compression;

  /**
   * Sets how long an event may wait so that other events are sent in the same batch.
   *
   * @defaultValue `5`
   */
  @IsDuration()
  lingerMs?: Duration;

  /**
   * Limits the size of a batch of events.
   *
   * @defaultValue `16384`
   */
  @IsWholeNumber()
  batchBytes?: number;

  /**
   * Limits the size of all events that wait or are in flight. Above it, `publish` waits.
   *
   * @defaultValue `33554432`
   */
  @IsWholeNumber()
  bufferBytes?: number;

  /**
   * Limits the time from `publish` to its result, including all attempts. Each attempt takes at
   * most 10 s.
   *
   * @defaultValue `30000`
   */
  @IsDuration({ min: 1 })
  deliveryTimeoutMs?: Duration;
}

/**
 * Configures how one cluster is reached: by `brokers` and the options of the Kafka driver, or by a
 * `driver`.
 */
export class ClusterProperties {
  /**
   * Gives addresses of some brokers as `host:port`, in a list or separated by commas. Use either
   * `brokers` or `driver`.
   *
   * @defaultValue none
   */
  @IsTextOrTexts(BROKERS)
  brokers?: string | readonly string[];

  /**
   * Sets a driver, such as `memory()`, instead of brokers.
   *
   * @defaultValue none
   */
  @IsDriver()
  driver?: BrokerDriver;

  /**
   * Names producers and administration in the logs and metrics of the brokers. Consumers are named
   * `eventbus-<binding>`, and those of a retry tier `eventbus-<binding>-retry-<n>`.
   *
   * @defaultValue `'nest-event-bus'`
   */
  @IsText()
  clientId?: string;

  /**
   * Switches TLS on: `true`, or the options of `tls.connect` in `node:tls`. An unknown key is
   * refused. The value is never repeated in an error or a log line.
   *
   * @defaultValue `false`
   */
  @IsReference(
    'true, false or the options of node:tls',
    (value) => typeof value === 'boolean' || isObject(value),
    { secret: true, knownKeys: TLS_KEYS },
  )
  ssl?: boolean | TlsOptions;

  /**
   * Sets the SASL mechanism and its credentials, such as
   * `{ mechanism: 'plain', username, password }`. The value is never repeated in an error or a log
   * line.
   *
   * @defaultValue none
   */
  @IsReference(
    "an object with a mechanism, such as { mechanism: 'plain', username, password }",
    (value) => isObject(value) && 'mechanism' in value && typeof value.mechanism === 'string',
    { secret: true, knownKeys: SASL_KEYS },
  )
  sasl?: SaslOptions;

  /**
   * Names the rack of this process, like the broker setting `broker.rack`. Records are read from a
   * replica in the same rack if the brokers have a rack-aware `replica.selector.class`.
   *
   * @defaultValue none
   */
  @IsText()
  rackId?: string;

  /**
   * Sets how often the bus looks for new partitions and deleted topics.
   *
   * @defaultValue `10000`
   */
  @IsDuration()
  metadataMaxAgeMs?: Duration;

  /**
   * Configures the producer of `EventPublisher`. Records for retry and dead-letter topics have
   * another producer, which these options do not change.
   */
  @IsNested(() => ClusterProducerProperties)
  producer?: ClusterProducerProperties;
}

/** Configures how the bus drains at shutdown. */
export class ShutdownProperties {
  /**
   * Limits how long a stop or shutdown waits for running handlers. After that time their abort
   * signals fire, and their records are delivered again.
   *
   * @defaultValue `30000`
   */
  @IsDuration()
  drainTimeoutMs?: Duration;
}

/** Configures the start of the bindings. */
export class StartupProperties {
  /**
   * Limits how many sessions join their groups at the same time.
   *
   * @defaultValue `16`
   */
  @IsWholeNumber({ max: 10_000 })
  concurrency?: number;
}

/** Limits the memory for records that were fetched and are not finished. */
export class IntakeProperties {
  /**
   * Limits the bytes of records that were fetched and are not finished, over all sessions. All
   * assigned partitions share them evenly, and each has at least 64 KiB.
   *
   * @defaultValue `67108864`
   */
  @IsWholeNumber()
  bufferBytes?: number;
}

/** Configures what `EventBusMetrics` returns. */
export class MetricsProperties {
  /**
   * Switches the metrics on. With `false` the bus counts only what it needs itself, and `collect()`
   * returns an empty list.
   *
   * @defaultValue `true`
   */
  @IsFlag()
  enabled?: boolean;
}

/** Configures the context of records for log lines. */
export class LogContextProperties {
  /**
   * Carries the context of a record to all log lines during its handling, if `EventBusLogger` or
   * `logContext.reader()` is used. With `false` only the lines of `context.log` name the record.
   *
   * @defaultValue `true`
   */
  @IsFlag()
  enabled?: boolean;
}

/** Configures how `LagService` finds the lag of the bindings. */
export class LagProperties {
  /**
   * Switches the lag on. With `false` no broker is asked, and `LagService` knows no lag.
   *
   * @defaultValue `true`
   */
  @IsFlag()
  enabled?: boolean;

  /**
   * Sets how often each cluster is asked for watermarks and committed offsets. The status of a
   * partition is decided by the last seven answers.
   *
   * @defaultValue `10000`
   */
  @IsDuration({ min: 100 })
  intervalMs?: Duration;
}

/** Configures how the processes of a group hear each other's commands. */
export class FleetProperties {
  /**
   * Names the topic by which commands of operators reach every process that has it. Who may write to
   * it may command them all, so protect it with ACLs. Without it, a command reaches one process.
   *
   * @defaultValue none
   */
  @IsText()
  controlTopic?: string;

  /**
   * Names the cluster of the control topic by its alias.
   *
   * @defaultValue `'default'`
   */
  @IsText()
  cluster?: string;

  /**
   * Decides about a missing control topic: `'create'` creates it, compacted and with one partition.
   * `'verify'` logs that it is missing.
   *
   * @defaultValue `'verify'`
   */
  @IsOneOf(['create', 'verify'])
  provisioning?: 'create' | 'verify';

  /**
   * Names this process in answers. It must be different in each process.
   *
   * @defaultValue the name of the host and a random part
   */
  @IsText()
  instance?: string;

  /**
   * Tells the version of the application, so that `eventbus instances` shows which processes are old.
   *
   * @defaultValue `''`
   */
  @IsText()
  version?: string;

  /**
   * Sets how often the control topic is read, and so how soon a command is obeyed.
   *
   * @defaultValue `500`
   */
  @IsDuration({ min: 50 })
  pollIntervalMs?: Duration;

  /**
   * Sets how often this process tells its state. After three missed reports it counts as silent.
   *
   * @defaultValue `10000`
   */
  @IsDuration({ min: 1_000 })
  reportIntervalMs?: Duration;
}

/** Contains the options of `EventBusModule.forRoot`. */
export class EventBusProperties {
  /**
   * Switches the event bus on or off. `'if-configured'` switches it off, with a warning, if no
   * brokers are set.
   *
   * @defaultValue `true`
   */
  @IsOneOf([true, false, 'if-configured'])
  enabled?: boolean | 'if-configured';

  /**
   * Gives the addresses of the default cluster as `host:port`, in a list or separated by commas.
   * Short for `clusters.default.brokers`.
   *
   * @defaultValue none
   */
  @IsTextOrTexts(BROKERS)
  brokers?: string | readonly string[];

  /**
   * Sets the driver of the default cluster, such as `memory()`, instead of brokers. Short for
   * `clusters.default.driver`.
   *
   * @defaultValue none
   */
  @IsDriver()
  driver?: BrokerDriver;

  /**
   * Describes the clusters by their aliases. A binding names one of them as `cluster`.
   *
   * @defaultValue none
   */
  @IsMapOf(() => ClusterProperties)
  clusters?: Readonly<Record<string, ClusterProperties>>;

  /**
   * Sets options for all bindings of the application. They override the preset and the defaults of
   * the library. The options of a binding, loaders and decorators override them.
   *
   * @defaultValue none
   */
  @IsNested(() => BindingDefaults)
  defaults?: BindingDefaults;

  /**
   * Decides about a binding without a handler. `'fail'` refuses the start. `'allow'` accepts a
   * binding to which events are published, but which reads no records.
   *
   * @defaultValue `'fail'`
   */
  @IsOneOf(['fail', 'allow'])
  bindingsWithoutHandler?: 'fail' | 'allow';

  /**
   * Describes the bindings by their names. Handlers, commands and `publish` use these names.
   *
   * @defaultValue none
   */
  @IsMapOf(() => TopicBindingProperties)
  bindings?: ByBinding<TopicBindingProperties>;

  /** Configures how the bus drains at shutdown. */
  @IsNested(() => ShutdownProperties)
  shutdown?: ShutdownProperties;

  /** Configures the start of the bindings. */
  @IsNested(() => StartupProperties)
  startup?: StartupProperties;

  /** Limits the memory for records that were fetched. */
  @IsNested(() => IntakeProperties)
  intake?: IntakeProperties;

  /** Configures what `EventBusMetrics` returns. */
  @IsNested(() => MetricsProperties)
  metrics?: MetricsProperties;

  /** Configures the context of records for log lines. */
  @IsNested(() => LogContextProperties)
  logContext?: LogContextProperties;

  /** Configures how `LagService` finds the lag of the bindings. */
  @IsNested(() => LagProperties)
  lag?: LagProperties;

  /** Configures how the processes of a group hear each other's commands. */
  @IsNested(() => FleetProperties)
  fleet?: FleetProperties;

  /**
   * Registers the error classes for which names in `retry` and `exceptionRouting` stand. Files and
   * environment variables can only name an error.
   *
   * @defaultValue `{}`
   */
  @IsErrorTypes()
  errorTypes?: Readonly<Record<string, ErrorClass>>;

  /**
   * Lists the results of loaders, which read files or the environment. Their values are used if
   * these options do not set them; of several loaders the first one wins.
   *
   * @defaultValue none
   */
  @IsReference(
    'a list of what loaders gave, such as [fromEnvironment(process.env)]',
    (value) => Array.isArray(value) && Array.from<unknown>(value).every(isLoadedOptions),
  )
  loaders?: readonly LoadedOptions[];

  /**
   * Provides time, timers and randomness. Tests pass a `VirtualRuntime`.
   *
   * @defaultValue the real clock
   */
  @IsReference('a runtime, such as realRuntime of @nest-event-bus/broker/runtime', (value) =>
    hasMethods(value, ['now', 'monotonic', 'setTimer', 'defer', 'random', 'uuid', 'hostname']),
  )
  runtime?: Runtime;
}
