import { connect, createServer, type Server, type Socket } from 'node:net';
import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import { breakConnection } from './break-connection.js';
import { splitAddress, type Address } from './address.js';
import { ByteFlow } from './byte-flow.js';
import { FlowControl, type ByteCount, type FlowMode } from './flow-control.js';

export type Direction = 'toServer' | 'toClient';

export interface TcpProxyOptions {
  /** The target of the connections: `host:port`. */
  readonly target: string;
  /** The port of the proxy. Default: any free port. */
  readonly port?: number;
  readonly runtime?: Runtime;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
}

const HOST = '127.0.0.1';
const BOTH: readonly Direction[] = ['toServer', 'toClient'];

/**
 * A proxy for one port that disturbs connections as networks do. Each direction has one mode at a
 * time, which applies to existing and new connections. A new mode replaces the previous one, and
 * `forward()` restores normal forwarding.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #controls = { toServer: new FlowControl(), toClient: new FlowControl() };
  readonly #runtime: Runtime;
  readonly #target: Address;
  readonly #connections = new Set<Connection>();
  #server: Server | undefined;
  #port: number;
  #accepted = 0;

  /** Creates a proxy that does not listen yet. It listens after `accept` was called. */
  constructor(options: TcpProxyOptions) {
    this.#runtime = options.runtime ?? realRuntime;
    this.#target = splitAddress(options.target);
    this.#port = options.port ?? 0;
  }

  static async listen(options: TcpProxyOptions): Promise<TcpProxy> {
    const proxy = new TcpProxy(options);
    await proxy.accept();
    return proxy;
  }

  get address(): string {
    return `${HOST}:${this.#port}`;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** The number of all connections accepted so far. */
  get acceptedConnections(): number {
    return this.#accepted;
  }

  get bytes(): Readonly<Record<Direction, ByteCount>> {
    return { toServer: this.#controls.toServer.bytes, toClient: this.#controls.toClient.bytes };
  }

  /**
   * Breaks every open connection with a reset. New connections are accepted, unless `refuse` was
   * called.
   */
  cut(): void {
    for (const { client, server } of this.#connections) {
      breakConnection(client);
      breakConnection(server);
    }
  }

  /** Refuses new connections, as a port without a listener does. Open connections stay open. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    // The callback of `close` is not awaited: it is called when the last connection ends, but the
    // port is free at once.
    server?.close();
    await new Promise<void>((resolve) => this.#runtime.defer(resolve));
  }

  /** Accepts connections again after `refuse`. */
  async accept(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ allowHalfOpen: true }, (client) => this.#connect(client));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: this.#port, host: HOST }, () => resolve());
    });
    const bound = server.address();
    if (bound !== null && typeof bound === 'object') this.#port = bound.port;
  }

  /**
   * Delays all bytes by the given time, without a limit of the throughput. Default: both
   * directions.
   */
  delay(milliseconds: number, direction?: Direction): void {
    this.#setMode({ kind: 'delay', milliseconds }, direction);
  }

  /** Limits the bytes per second of each connection. Default: both directions. */
  throttle(bytesPerSecond: number, direction?: Direction): void {
    this.#setMode({ kind: 'throttle', bytesPerSecond }, direction);
  }

  /**
   * Drops bytes and keeps connections open. The dropped bytes are not delivered after `forward`
   * either.
   */
  swallow(direction: Direction): void {
    this.#setMode({ kind: 'swallow' }, direction);
  }

  /**
   * Forwards `bytes` more bytes, counted over all connections, and then closes the connection that
   * transferred the last one. Other connections stay open.
   */
  cutAfter(bytes: number, direction: Direction): void {
    this.#setMode({ kind: 'cut-after', bytes }, direction);
  }

  /** Restores normal forwarding. Bytes that wait are forwarded as well. */
  forward(direction?: Direction): void {
    this.#setMode({ kind: 'forward' }, direction);
  }

  async close(): Promise<void> {
    await this.refuse();
    this.cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #setMode(mode: FlowMode, direction: Direction | undefined): void {
    for (const each of direction ? [direction] : BOTH) this.#controls[each].set(mode);
  }

  #connect(client: Socket): void {
    this.#accepted++;
    const server = connect({ ...this.#target, allowHalfOpen: true });
    const connection = { client, server };
    this.#connections.add(connection);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.#resetBoth(connection));
      socket.on('close', () => this.#forget(connection));
    }
    new ByteFlow(this.#runtime, client, server, this.#controls.toServer);
    new ByteFlow(this.#runtime, server, client, this.#controls.toClient);
  }

  /**
   * Resets both sides if one side has an error, so that the other side does not see a normal end.
   */
  #resetBoth({ client, server }: Connection): void {
    breakConnection(client);
    breakConnection(server);
  }

  #forget(connection: Connection): void {
    if (connection.client.destroyed && connection.server.destroyed) {
      this.#connections.delete(connection);
    }
  }
}
