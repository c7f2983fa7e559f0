import { connect, createServer, type Server, type Socket } from 'node:net';
import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import { breakConnection } from './break-connection.js';
import { splitAddress, type Address } from './address.js';
import { ByteFlow } from './byte-flow.js';
import { FlowControl, type ByteCount, type FlowMode } from './flow-control.js';

export type Direction = 'toServer' | 'toClient';

export interface TcpProxyOptions {
  /** Where connections are forwarded to: `host:port`. */
  readonly target: string;
  /** Where to listen. Default: any free port. */
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
 * Stands before one port and breaks what passes, as networks do. Each direction has one treatment at a time, for
 * present and future connections; the last order wins, and `forward()` ends it.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #controls = { toServer: new FlowControl(), toClient: new FlowControl() };
  readonly #runtime: Runtime;
  readonly #target: Address;
  readonly #connections = new Set<Connection>();
  #server: Server | undefined;
  #port: number;
  #accepted = 0;

  /** Not listening yet: `accept` does that. */
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

  /** How many connections were ever accepted. */
  get acceptedConnections(): number {
    return this.#accepted;
  }

  get bytes(): Readonly<Record<Direction, ByteCount>> {
    return { toServer: this.#controls.toServer.bytes, toClient: this.#controls.toClient.bytes };
  }

  /** Breaks every open connection with a reset; new ones are accepted, unless `refuse` was called. */
  cut(): void {
    for (const { client, server } of this.#connections) {
      breakConnection(client);
      breakConnection(server);
    }
  }

  /** New connections are refused, as by a port that nobody listens on; open ones go on. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    // Not awaited: `close` calls back when the last open connection has ended, the port is free at once.
    server?.close();
    await new Promise<void>((resolve) => this.#runtime.defer(resolve));
  }

  /** Ends `refuse`. */
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

  /** Everything arrives later; how much passes stays the same. Without a direction, both ways. */
  delay(milliseconds: number, direction?: Direction): void {
    this.#setMode({ kind: 'delay', milliseconds }, direction);
  }

  /** Each connection gets no more than this through. Without a direction, both ways. */
  throttle(bytesPerSecond: number, direction?: Direction): void {
    this.#setMode({ kind: 'throttle', bytesPerSecond }, direction);
  }

  /** Bytes vanish; connections stay open. What vanished stays lost after `forward`. */
  swallow(direction: Direction): void {
    this.#setMode({ kind: 'swallow' }, direction);
  }

  /** After this many more bytes, the connection that carries the last of them is closed; the others go on. */
  cutAfter(bytes: number, direction: Direction): void {
    this.#setMode({ kind: 'cut-after', bytes }, direction);
  }

  /** Back to an honest wire, for bytes that still wait too. */
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

  /** An error on one side is passed on as a reset: the other must not take it for an orderly end. */
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
