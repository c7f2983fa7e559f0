import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { breakConnection } from '../../../libs/testing/src/proxy/break-connection.js';
import { ResponseFrames } from './response-frames.js';

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * A proxy between one process and a broker. Replaces the broker's advertised port in responses by
 * its own, so that the driver keeps using the proxy.
 */
export class BrokerProxy {
  readonly #connections = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  #port = 0;
  #isConnected = true;
  #losesResponses = false;
  #delayMs = 0;

  private constructor(private readonly broker: Address) {}

  static async listenFor(broker: string): Promise<BrokerProxy> {
    const colon = broker.lastIndexOf(':');
    const address = { host: broker.slice(0, colon), port: Number(broker.slice(colon + 1)) };
    const proxy = new BrokerProxy(address);
    await proxy.#listen();
    return proxy;
  }

  get address(): string {
    return `${this.broker.host}:${this.#port}`;
  }

  disconnect(): void {
    this.#isConnected = false;
    for (const pair of this.#connections) for (const socket of pair) breakConnection(socket);
  }

  reconnect(): void {
    this.#isConnected = true;
  }

  loseResponses(lost: boolean): void {
    this.#losesResponses = lost;
  }

  delayResponses(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  async close(): Promise<void> {
    this.disconnect();
    await new Promise<void>((resolve) => this.#server?.close(() => resolve()));
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, this.broker.host, resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  #accept(client: Socket): void {
    if (!this.#isConnected) return breakConnection(client);
    const broker = connect(this.broker);
    const pair = [client, broker] as const;
    this.#connections.add(pair);
    for (const [socket, other] of [pair, [broker, client] as const]) {
      socket.setNoDelay(true);
      // The `close` event, which follows every error, closes the other end.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        other.destroy();
        this.#connections.delete(pair);
      });
    }
    client.on('data', (bytes) => broker.write(bytes));
    const frames = new ResponseFrames(this.broker, this.#port);
    broker.on('data', (bytes) => {
      for (const frame of frames.push(bytes)) void this.#forwardResponse(client, frame);
    });
  }

  async #forwardResponse(client: Socket, frame: Buffer): Promise<void> {
    if (this.#losesResponses) return;
    if (this.#delayMs > 0) await sleep(realRuntime, this.#delayMs);
    client.write(frame);
  }
}
