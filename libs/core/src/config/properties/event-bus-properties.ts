import type { BrokerDriver, Compression } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
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

/** The producer of what `EventPublisher` writes. Retry and dead-letter topics have another one, which these do not change. */
export class ClusterProducerProperties {
  /** What every reader of the topics must be able to read. Default 'none'. */
  @IsOneOf(['none', 'gzip', 'snappy', 'lz4', 'zstd'])
  compression?: Compression;

  /** How long an event may wait for others to go with. Default 5 ms. */
  @IsDuration()
  lingerMs?: Duration;

  /** Of events that go together. Default 16 KiB. */
  @IsWholeNumber()
  batchBytes?: number;

  /** Of all that waits or is under way; beyond it `publish` waits. Default 32 MiB. */
  @IsWholeNumber()
  bufferBytes?: number;

  /** From `publish` to its answer, with all tries. Default 30 s. */
  @IsDuration({ min: 1 })
  deliveryTimeoutMs?: Duration;
}

/** How one cluster is reached. Either `brokers` with what the Kafka driver needs, or a `driver`. */
export class ClusterProperties {
  @IsTextOrTexts(BROKERS)
  brokers?: string | readonly string[];

  @IsDriver()
  driver?: BrokerDriver;

  @IsText()
  clientId?: string;

  /** true, or the options of node:tls. */
  @IsReference(
    'true, false or the options of node:tls',
    (value) => typeof value === 'boolean' || isObject(value),
    { secret: true },
  )
  ssl?: boolean | object;

  @IsReference(
    "an object with a mechanism, such as { mechanism: 'plain', username, password }",
    (value) => isObject(value) && 'mechanism' in value && typeof value.mechanism === 'string',
    { secret: true },
  )
  sasl?: object;

  /** Where this process runs, as the brokers say it: records are read from a replica in the same rack. */
  @IsText()
  rackId?: string;

  /** How often new partitions are looked for. Default 10 s. */
  @IsDuration()
  metadataMaxAgeMs?: Duration;

  @IsNested(() => ClusterProducerProperties)
  producer?: ClusterProducerProperties;
}

export class ShutdownProperties {
  /** How long running handlers may take. Default 30 s. */
  @IsDuration()
  drainTimeoutMs?: Duration;
}

export class StartupProperties {
  /** Sessions that may begin to join at the same time. Default 16. */
  @IsWholeNumber({ max: 10_000 })
  concurrency?: number;
}

export class IntakeProperties {
  /** Of records that were read and are not done, in all sessions together. Default 64 MiB. */
  @IsWholeNumber()
  bufferBytes?: number;
}

/** What `EventBusMetrics` gives. */
export class MetricsProperties {
  /** Without it nothing is counted besides what the bus itself needs. Default true. */
  @IsFlag()
  enabled?: boolean;
}

/** The options of `EventBusModule.forRoot`. */
export class EventBusProperties {
  /** `'if-configured'` is disabled, with a warning, where no brokers are given. Default true. */
  @IsOneOf([true, false, 'if-configured'])
  enabled?: boolean | 'if-configured';

  /** Short for `clusters.default.brokers`. */
  @IsTextOrTexts(BROKERS)
  brokers?: string | readonly string[];

  /** Short for `clusters.default.driver`. */
  @IsDriver()
  driver?: BrokerDriver;

  @IsMapOf(() => ClusterProperties)
  clusters?: Readonly<Record<string, ClusterProperties>>;

  /** The lowest layer of every binding of this application: it beats the preset and the library's defaults only. */
  @IsNested(() => BindingDefaults)
  defaults?: BindingDefaults;

  /** `'allow'`: a binding that nobody handles is published to, and not read. Default `'fail'`. */
  @IsOneOf(['fail', 'allow'])
  bindingsWithoutHandler?: 'fail' | 'allow';

  @IsMapOf(() => TopicBindingProperties)
  bindings?: Readonly<Record<string, TopicBindingProperties>>;

  @IsNested(() => ShutdownProperties)
  shutdown?: ShutdownProperties;

  @IsNested(() => StartupProperties)
  startup?: StartupProperties;

  @IsNested(() => IntakeProperties)
  intake?: IntakeProperties;

  @IsNested(() => MetricsProperties)
  metrics?: MetricsProperties;

  /** The classes that names in `retry` stand for. Files and the environment have nothing but names. */
  @IsErrorTypes()
  errorTypes?: Readonly<Record<string, ErrorClass>>;

  /** What was read from files and the environment. It counts where these options say nothing; the first one wins. */
  @IsReference(
    'a list of what loaders gave, such as [fromEnvironment(process.env)]',
    (value) => Array.isArray(value) && Array.from<unknown>(value).every(isLoadedOptions),
  )
  loaders?: readonly LoadedOptions[];

  /** Time and chance; for tests. */
  @IsReference('a runtime, such as realRuntime of @nest-event-bus/broker/runtime', (value) =>
    hasMethods(value, ['now', 'monotonic', 'setTimer', 'defer', 'random', 'uuid', 'hostname']),
  )
  runtime?: Runtime;
}
