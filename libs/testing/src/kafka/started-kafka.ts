import type { TcpProxy } from '../proxy/tcp-proxy.js';
import type { Certificates } from './security-options.js';

export type KafkaSource = 'external' | 'local' | 'docker';

/** A running Kafka. Brokers are counted from 0; in local Java that is also their node id. */
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
  /** Bootstrap addresses of the secured listeners, by listener. */
  readonly securedBrokers: Readonly<Record<string, readonly string[]>>;
  /** Certificates for clients of the TLS listeners; undefined without TLS. */
  readonly certificates: Certificates | undefined;
  /**
   * True if `kill`, `shutDown`, `restart`, `freeze` and `thaw` work, which requires brokers in
   * local Java.
   */
  readonly canKill: boolean;
  /** Sends SIGKILL: the broker ends without leaving the cluster; its data stays. */
  kill(broker: number): Promise<void>;
  /** Sends SIGTERM: the broker hands over its partitions and leaves the cluster; its data stays. */
  shutDown(broker: number): Promise<void>;
  /**
   * Starts a broker on its old data and port, and waits until it is ready. A running broker is
   * killed first.
   */
  restart(broker: number): Promise<void>;
  /** Sends SIGSTOP: connections stay open, but no request is answered. */
  freeze(broker: number): void;
  /** Sends SIGCONT: the broker continues. */
  thaw(broker: number): void;
  /** Stops everything and removes the data. May be called twice. */
  stop(): Promise<void>;
}
