import type { TcpProxy } from '../proxy/tcp-proxy.js';
import type { RabbitManagement } from './rabbit-management.js';

/** A running RabbitMQ of its own: node name, ports, data, settings and management plugin. */
export interface StartedRabbit extends AsyncDisposable {
  /** The address for clients, with user and password: `amqp://guest:guest@127.0.0.1:21000`. */
  readonly url: string;
  /** The address of the same server through its proxy. */
  readonly proxiedUrl: string;
  readonly proxy: TcpProxy;
  /** The HTTP interface of the management plugin. */
  readonly management: RabbitManagement;
  /** Sends SIGKILL: connections break, and durable data is kept. */
  kill(): Promise<void>;
  /** Sends SIGTERM: the server closes its connections and stops, and durable data is kept. */
  shutDown(): Promise<void>;
  /** Starts the server with its previous data and ports, and waits until it is ready. */
  restart(): Promise<void>;
  /** Sends SIGSTOP: connections stay open, but the server answers nothing. */
  freeze(): void;
  /** Sends SIGCONT: the server continues. */
  thaw(): void;
  /** Raises the memory alarm: the server stops reading from connections that publish. */
  raiseMemoryAlarm(): Promise<void>;
  clearMemoryAlarm(): Promise<void>;
  /** Stops the server and removes its data. A second call does nothing. */
  stop(): Promise<void>;
}
