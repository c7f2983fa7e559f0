import type { TcpProxy } from '../proxy/tcp-proxy.js';
import type { Certificates } from './security-options.js';

export type KafkaSource = 'external' | 'local' | 'docker';

/** A Kafka that runs. Brokers are counted from 0, which is also their node id when we run them ourselves. */
export interface StartedKafka extends AsyncDisposable {
  readonly source: KafkaSource;
  /** Bootstrap addresses, one per broker: `host:port`. */
  readonly brokers: readonly string[];
  /** The same brokers through their proxies: a client that bootstraps here stays behind the proxies. */
  readonly proxiedBrokers: readonly string[];
  readonly proxies: readonly TcpProxy[];
  /** Bootstrap addresses of the secured listeners, by listener. */
  readonly securedBrokers: Readonly<Record<string, readonly string[]>>;
  /** What clients of the TLS listeners need; without any, undefined. */
  readonly certificates: Certificates | undefined;
  /** Whether `kill`, `shutDown`, `restart`, `freeze` and `thaw` work: only on brokers that we run ourselves. */
  readonly canKill: boolean;
  /** SIGKILL: the broker is gone in mid-sentence; its data stays. */
  kill(broker: number): Promise<void>;
  /** SIGTERM: the broker hands over its partitions and leaves in order; its data stays. */
  shutDown(broker: number): Promise<void>;
  /** Starts a broker on its old data and port, and waits until it serves. One that runs is killed first. */
  restart(broker: number): Promise<void>;
  /** SIGSTOP: connections stay open, nothing answers. */
  freeze(broker: number): void;
  /** SIGCONT: goes on where it stood. */
  thaw(broker: number): void;
  /** Ends everything and removes the data. May be called twice. */
  stop(): Promise<void>;
}
