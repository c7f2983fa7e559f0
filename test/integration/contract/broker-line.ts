import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { breakConnection } from '../../../libs/testing/src/proxy/break-connection.js';
import { AnswerFrames } from './answer-frames.js';

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * One process's own way to a broker. In the broker's answers it puts its own port in the place of
 * the broker's, so that a driver that began here stays here, whatever the broker advertises.
 */
export class BrokerLine {
  readonly #connections = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  #port = 0;
  #plugged = true;
  #answersLost = false;
  #delayMs = 0;

  private constructor(private readonly broker: Address) {}

  static async to(broker: string): Promise<BrokerLine> {
    const colon = broker.lastIndexOf(':');
    const address = { host: broker.slice(0, colon), port: Number(broker.slice(colon + 1)) };
    const line = new BrokerLine(address);
    await line.#listen();
    return line;
  }

  get address(): string {
    return `${this.broker.host}:${this.#port}`;
  }

  unplug(): void {
    this.#plugged = false;
    for (const pair of this.#connections) for (const socket of pair) breakConnection(socket);
  }

  plugIn(): void {
    this.#plugged = true;
  }

  loseAnswers(lost: boolean): void {
    this.#answersLost = lost;
  }

  delayAnswers(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  async close(): Promise<void> {
    this.unplug();
    await new Promise<void>((resolve) => this.#server?.close(() => resolve()));
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, this.broker.host, resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  #accept(client: Socket): void {
    if (!this.#plugged) return breakConnection(client);
    const broker = connect(this.broker);
    const pair = [client, broker] as const;
    this.#connections.add(pair);
    for (const [socket, other] of [pair, [broker, client] as const]) {
      socket.setNoDelay(true);
      // The other end hears of it by the close that follows every error.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        other.destroy();
        this.#connections.delete(pair);
      });
    }
    client.on('data', (bytes) => broker.write(bytes));
    const frames = new AnswerFrames(this.broker, this.#port);
    broker.on('data', (bytes) => {
      for (const frame of frames.push(bytes)) void this.#answer(client, frame);
    });
  }

  async #answer(client: Socket, frame: Buffer): Promise<void> {
    if (this.#answersLost) return;
    if (this.#delayMs > 0) await sleep(realRuntime, this.#delayMs);
    client.write(frame);
  }
}
