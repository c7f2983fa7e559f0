import type { BrokerDriver } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Duration } from './duration.js';
import type { TopicBindingProperties } from './topic-binding-properties.js';

/** The options of `EventBusModule.forRoot`. */
export class EventBusProperties {
  /** `'if-configured'` is disabled, with a warning, where no brokers are given. Default true. */
  enabled?: boolean | 'if-configured';
  /** Short for `clusters.default.brokers`. */
  brokers?: string | readonly string[];
  /** Short for `clusters.default.driver`. */
  driver?: BrokerDriver;
  clusters?: Readonly<Record<string, ClusterProperties>>;
  /** The lowest layer of every binding of this application. */
  defaults?: BindingDefaults;
  bindings?: Readonly<Record<string, TopicBindingProperties>>;
  shutdown?: ShutdownProperties;
  startup?: StartupProperties;
  /** Time and chance; for tests. */
  runtime?: Runtime;
}

export type BindingDefaults = Partial<Omit<TopicBindingProperties, 'topic'>>;

/** How one cluster is reached. Either `brokers` with what the Kafka driver needs, or a `driver`. */
export class ClusterProperties {
  brokers?: string | readonly string[];
  driver?: BrokerDriver;
  clientId?: string;
  /** true, or the options of node:tls. */
  ssl?: boolean | object;
  sasl?: object;
  rackId?: string;
}

export class ShutdownProperties {
  /** How long running handlers may take. Default 30 s. */
  drainTimeoutMs?: Duration;
}

export class StartupProperties {
  /** Sessions that may join at the same time. Default 16. */
  concurrency?: number;
}
