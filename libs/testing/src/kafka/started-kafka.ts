import type { TcpProxy } from '../proxy/tcp-proxy.js';
import type { Certificates } from './security-options.js';

export type KafkaSource = 'external' | 'local' | 'docker';

/** A running Kafka. Brokers are counted from 0. In local JVMs this number is also the node id. */
export interface StartedKafka extends AsyncDisposable {
  readonly source: KafkaSource;
  /** Bootstrap addresses, one per broker: `host:port`. */
  readonly brokers: readonly string[];
  /**
   * Addresses of the same brokers through their proxies. A client that bootstraps here uses only
   * the proxies.
   */
  readonly proxiedBrokers: readonly string[];
  readonly proxies: readonly TcpProxy[];
  /** Bootstrap addresses of the secured listeners, by the name of the listener. */
  readonly securedBrokers: Readonly<Record<string, readonly string[]>>;
  /** Certificates for clients of the TLS listeners; undefined without TLS. */
  readonly certificates: Certificates | undefined;
  /**
   * True if `kill`, `shutDown`, `restart`, `freeze` and `thaw` work, which requires brokers in
   * local Java.
   */
  readonly canKill: boolean;
  /** Sends SIGKILL: the broker ends without leaving the cluster, and its data is kept. */
  kill(broker: number): Promise<void>;
  /**
   * Sends SIGTERM: the broker hands over its partitions and leaves the cluster, and its data is
   * kept.
   */
  shutDown(broker: number): Promise<void>;
  /**
   * Starts a broker with its previous data and port, and waits until it is ready. A running broker
   * is killed first.
   */
  restart(broker: number): Promise<void>;
  /** Sends SIGSTOP: connections stay open, but the broker answers no request. */
  freeze(broker: number): void;
  /** Sends SIGCONT: the broker continues. */
  thaw(broker: number): void;
  /** Stops all brokers and proxies, and removes the data. A second call does nothing. */
  stop(): Promise<void>;
}
