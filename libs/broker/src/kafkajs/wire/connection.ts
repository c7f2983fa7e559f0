import KafkajsConnection from 'kafkajs/src/network/connection.js';
import createSocketFactory from 'kafkajs/src/network/socketFactory.js';
import {
  AuthenticationError,
  BrokerError,
  ClosedError,
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
  UnsupportedError,
} from '../../port/errors.js';
import { Deferred, within, type Runtime, type Timer } from '../../runtime/index.js';
import { ownRequest, type ApiRequest } from './api-request.js';

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly connectionTimeoutMs: number;
  readonly ssl?: unknown;
  readonly sasl?: unknown;
  readonly runtime: Runtime;
}

export type VersionRange = { readonly minVersion: number; readonly maxVersion: number };
export type BrokerVersions = Readonly<Record<number, VersionRange>>;

export interface ExchangeOptions {
  /** From the call to the answer; then the connection is given up, for whatever comes next would wait behind. */
  readonly timeoutMs: number;
}

/** Larger than any answer we ask for; a hostile length beyond it must not make us buffer for ever. */
const LARGEST_ANSWER = 512 * 1024 * 1024;

/** Of the whole exchange, asking the user's token provider included; kafkajs would wait for ever. */
const AUTHENTICATION_TIMEOUT_MS = 10_000;

const silentLogger = {
  namespace: () => silentLogger,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const apiVersionsRequest: ApiRequest<{ code: number; versions: BrokerVersions }> = ownRequest({
  apiKey: 18,
  apiName: 'ApiVersions',
  versions: [2],
  write: () => undefined,
  read: (reader) => {
    const code = reader.int16();
    const ranges = reader.array(
      () => [reader.int16(), { minVersion: reader.int16(), maxVersion: reader.int16() }] as const,
    );
    return { code, versions: Object.fromEntries(ranges) };
  },
});

/**
 * kafkajs's connection (socket, TLS, SASL, framing, throttling), used once and never again:
 * after any failure its socket is destroyed and a new one is built, because what is left of a
 * half-read answer would poison the next (kafkajs keeps it over a reconnect).
 */
export class Connection {
  readonly #inner: KafkajsConnection;
  readonly #options: ConnectionOptions;
  readonly #onClosed = new Set<(error: BrokerError) => void>();
  /** Rejects when the connection is closed: kafkajs answers neither a connect nor an authentication then. */
  readonly #ended = new Deferred<never>();
  #opening: Promise<void> | undefined;
  #versions: BrokerVersions = {};
  #failure: BrokerError | undefined;
  #order: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#inner = new KafkajsConnection({
      host: options.host,
      port: options.port,
      clientId: options.clientId,
      connectionTimeout: options.connectionTimeoutMs,
      // We hold the deadlines: kafkajs sweeps every 100 ms and leaves the socket open.
      enforceRequestTimeout: false,
      requestTimeout: 2 ** 31 - 1,
      ssl: options.ssl,
      sasl: options.sasl,
      logger: silentLogger,
      socketFactory: createSocketFactory(),
    });
    this.#tameRequestQueue();
    this.#guardFraming();
  }

  get address(): string {
    return `${this.#options.host}:${this.#options.port}`;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  get versions(): BrokerVersions {
    return this.#versions;
  }

  /** How many requests wait for an answer. */
  get inFlight(): number {
    return this.#inner.requestQueue.inflight.size + this.#inner.requestQueue.pending.length;
  }

  onClosed(listener: (error: BrokerError) => void): void {
    this.#onClosed.add(listener);
  }

  /** Connects, learns the broker's versions and authenticates, once for all who ask. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      throw this.close(this.#translate(error));
    });
    return this.#opening;
  }

  /** Sends the request and gives its answer. Requests leave in the order of the calls. */
  async exchange<T>(request: ApiRequest<T>, { timeoutMs }: ExchangeOptions): Promise<T> {
    if (this.#failure) throw this.#failure;
    const version = this.#bestVersion(request);
    let timer: Timer | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = this.#options.runtime.setTimer(() => {
          reject(this.close(this.#timedOut(request.apiName, timeoutMs)));
        }, timeoutMs);
        this.#send(request, version)
          .then((body) => this.#decode(request, body, version))
          .then(resolve, reject);
      });
    } catch (error) {
      throw error instanceof BrokerError ? error : this.close(this.#translate(error));
    } finally {
      timer?.cancel();
    }
  }

  /** Rejects what waits for an answer and destroys the socket. Returns the first reason it was closed for. */
  close(reason?: BrokerError): BrokerError {
    if (this.#failure) return this.#failure;
    this.#failure = reason ?? new ClosedError(`The connection to ${this.address} was closed.`);
    this.#inner.requestQueue.rejectAll(this.#failure);
    this.#inner.requestQueue.destroy();
    this.#inner.connectionStatus = 'disconnected';
    // The error makes kafkajs cancel its time-out of the connect, which would hold up the end of the process.
    this.#inner.socket?.destroy(this.#failure);
    this.#ended.reject(this.#failure);
    for (const listener of this.#onClosed) listener(this.#failure);
    this.#onClosed.clear();
    return this.#failure;
  }

  async #open(): Promise<void> {
    // Closed while it stood in line for connecting: nobody would ever close a socket made now.
    if (this.#failure) throw this.#failure;
    const connecting = this.#inner.connect();
    // kafkajs listens to 'end' and 'error' only: a socket that is destroyed under it says neither.
    this.#inner.socket?.on('close', () => {
      this.close(
        new ConnectionError(`The connection to ${this.address} was closed by the other side.`),
      );
    });
    this.#inner.socket?.setNoDelay(true);
    await Promise.race([connecting, this.#ended.promise]);
    if (this.#failure) throw this.#failure;
    const { versions } = await this.exchange(apiVersionsRequest, {
      timeoutMs: this.#options.connectionTimeoutMs,
    });
    this.#versions = versions;
    this.#inner.setVersions(versions);
    this.#inner.setSupportAuthenticationProtocol(versions[36] !== undefined);
    await within(this.#options.runtime, AUTHENTICATION_TIMEOUT_MS, this.#authenticate(), () =>
      this.close(this.#timedOut('the authentication', AUTHENTICATION_TIMEOUT_MS)),
    );
  }

  async #authenticate(): Promise<void> {
    if (!this.#options.sasl || this.#inner.isAuthenticated()) return;
    try {
      await Promise.race([this.#inner.authenticate(), this.#ended.promise]);
    } catch (error) {
      if (this.#failure) throw this.#failure;
      throw new AuthenticationError(
        `${this.address} did not accept the credentials: ${(error as Error).message}. Check the sasl mechanism, user name and password.`,
        { cause: error },
      );
    }
  }

  /** Encoding may be asynchronous and re-authentication is: a chain keeps the order of the calls. */
  async #send<T>(request: ApiRequest<T>, version: number): Promise<Buffer> {
    const turn = this.#order.then(async () => {
      const body = await request.encode(version);
      if (request !== (apiVersionsRequest as unknown)) await this.#authenticate();
      if (this.#failure) throw this.#failure;
      return { answer: this.#push(request, version, body) };
    });
    this.#order = turn.catch(() => undefined);
    return (await turn).answer;
  }

  #push<T>(request: ApiRequest<T>, apiVersion: number, body: Buffer): Promise<Buffer> {
    const { apiKey, apiName } = request;
    const correlationId = this.#inner.nextCorrelationId();
    const header = this.#header(request, apiVersion, correlationId, body.length);
    return new Promise<Buffer>((resolve, reject) => {
      this.#inner.requestQueue.push({
        entry: {
          apiKey,
          apiName,
          apiVersion,
          correlationId,
          resolve: ({ payload }) => resolve(payload),
          reject,
        },
        expectResponse: true,
        sendRequest: () => {
          const socket = this.#inner.socket;
          if (!socket) return;
          socket.cork();
          socket.write(header);
          socket.write(body);
          socket.uncork();
        },
      });
    });
  }

  #header<T>(
    request: ApiRequest<T>,
    version: number,
    correlationId: number,
    bodyLength: number,
  ): Buffer {
    const flexible = isFlexible(request, version);
    const clientIdLength = Buffer.byteLength(this.#inner.clientId);
    const length = 14 + clientIdLength + (flexible ? 1 : 0);
    const header = Buffer.alloc(length);
    header.writeInt32BE(length - 4 + bodyLength, 0);
    header.writeInt16BE(request.apiKey, 4);
    header.writeInt16BE(version, 6);
    header.writeInt32BE(correlationId, 8);
    header.writeInt16BE(clientIdLength, 12);
    header.write(this.#inner.clientId, 14);
    return header;
  }

  async #decode<T>(request: ApiRequest<T>, payload: Buffer, version: number): Promise<T> {
    const body = isFlexible(request, version) ? payload.subarray(1) : payload;
    try {
      return await request.decode(body, version);
    } catch (error) {
      throw this.close(
        error instanceof MalformedResponseError
          ? error
          : new MalformedResponseError(
              `${this.address} answered ${request.apiName} with bytes that cannot be read.`,
              { cause: error },
            ),
      );
    }
  }

  #bestVersion<T>(request: ApiRequest<T>): number {
    if (request === (apiVersionsRequest as unknown)) return 2;
    const range = this.#versions[request.apiKey];
    const best = request.versions.findLast(
      (version) => range && version >= range.minVersion && version <= range.maxVersion,
    );
    if (best !== undefined) return best;
    const offered = range ? `offers ${range.minVersion}-${range.maxVersion}` : 'does not offer it';
    throw new UnsupportedError(
      `${request.apiName}: this driver speaks versions ${request.versions.join(', ')}, ${this.address} ${offered}. Kafka 2.8 or newer is needed.`,
    );
  }

  #timedOut(apiName: string, timeoutMs: number): RequestTimeoutError {
    return new RequestTimeoutError(
      `${this.address} did not answer ${apiName} within ${timeoutMs} ms.`,
    );
  }

  #translate(error: unknown): BrokerError {
    if (this.#failure) return this.#failure;
    if (error instanceof BrokerError) return error;
    return new ConnectionError(
      `Could not connect to ${this.address}: ${error instanceof Error ? error.message : String(error)}.`,
      { cause: error },
    );
  }

  /**
   * kafkajs re-arms a timer of about 1 ms for ever after the first answer: on 80 idle connections
   * that was most of the process's work. It is only needed while something is queued.
   */
  #tameRequestQueue(): void {
    const queue = this.#inner.requestQueue;
    const schedule = queue.scheduleCheckPendingRequests.bind(queue);
    queue.scheduleCheckPendingRequests = () => {
      if (queue.pending.length > 0) schedule();
    };
  }

  /** An exception in the socket's data handler would end the process. */
  #guardFraming(): void {
    const processData = this.#inner.processData.bind(this.#inner);
    const state = this.#inner as unknown as { bytesNeeded: number };
    this.#inner.processData = (chunk) => {
      try {
        processData(chunk);
        if (state.bytesNeeded < 4 || state.bytesNeeded > LARGEST_ANSWER)
          throw new RangeError(`an answer of ${state.bytesNeeded} bytes was announced`);
      } catch (error) {
        this.close(
          new MalformedResponseError(`${this.address} does not speak Kafka's protocol.`, {
            cause: error,
          }),
        );
      }
    };
  }
}

function isFlexible<T>(request: ApiRequest<T>, version: number): boolean {
  return request.flexibleFrom !== undefined && version >= request.flexibleFrom;
}
