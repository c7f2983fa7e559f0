import {
  BrokerError,
  ClosedError,
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
  UnsupportedError,
} from '../../port/errors.js';
import { abortable, sleep, within, type Runtime, type Timer } from '../../runtime/index.js';
import type { ApiRequest } from '../requests/api-request.js';
import {
  API_VERSIONS,
  apiVersionsRequest,
  UNSUPPORTED_VERSION,
  type ApiVersionsAnswer,
  type BrokerVersions,
} from '../requests/api-versions-request.js';
import { Authentication } from './authentication.js';
import { NO_FEATURES, type FinalizedFeatures } from '../cluster/cluster-features.js';
import { adviceOnFailure, adviceOnHangUp } from './connect-advice.js';
import { innerConnection, type InnerConnectionOptions } from './inner-connection.js';
import { isFlexible, requestHeader } from './request-header.js';
import type { KafkajsConnection } from './kafkajs-connection.js';

export interface ConnectionOptions extends InnerConnectionOptions {
  readonly runtime: Runtime;
}

export interface ExchangeOptions {
  /** From the call to the answer, without the rest that the broker may ask for; then the connection is given up, for whatever comes next would wait behind. */
  readonly timeoutMs: number;
  /** Aborted before it has left, it does not leave: it would arrive after what replaced it. */
  readonly signal?: AbortSignal | undefined;
}

/** Brokers ask for some 10 s at most; one that asks for hours is not obeyed. */
const LONGEST_REST_MS = 60_000;

/** Of the whole exchange, asking the user's token provider included; kafkajs would wait for ever. */
const AUTHENTICATION_TIMEOUT_MS = 10_000;

/**
 * kafkajs's connection (socket, TLS, SASL, framing), used once and never again:
 * after any failure its socket is destroyed and a new one is built, because what is left of a
 * half-read answer would poison the next (kafkajs keeps it over a reconnect).
 */
export class Connection {
  readonly #inner: KafkajsConnection;
  readonly #options: ConnectionOptions;
  readonly #authentication: Authentication | undefined;
  readonly #onClosed = new Set<(error: BrokerError) => void>();
  /** Aborts when the connection is closed: kafkajs answers neither a connect nor an authentication then. */
  readonly #ended = new AbortController();
  #opening: Promise<void> | undefined;
  #versions: BrokerVersions = {};
  #features = NO_FEATURES;
  /** Whether it has answered anything that only a listener of the expected kind answers. */
  #isProven = false;
  #failure: BrokerError | undefined;
  #restUntil = 0;
  #order: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#inner = innerConnection(options, (cause) => {
      const message = `${this.address} does not speak Kafka's protocol.${this.#adviceOnHangUp()}`;
      this.close(new MalformedResponseError(message, { cause }));
    });
    if (options.sasl)
      this.#authentication = new Authentication(this.#inner, this.address, options.runtime);
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

  /** Of its cluster, as the broker knew them when the connection was opened. */
  get features(): FinalizedFeatures {
    return this.#features;
  }

  /** Whether the broker wants to be left alone: what is asked now waits before it leaves. */
  get isResting(): boolean {
    return this.#restMs > 0;
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
  async exchange<T>(request: ApiRequest<T>, { timeoutMs, signal }: ExchangeOptions): Promise<T> {
    if (this.#failure) throw this.#failure;
    const version = this.#bestVersion(request);
    let deadline: Timer | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        deadline = this.#deadline(timeoutMs, () => {
          reject(this.close(this.#timedOut(request.apiName, timeoutMs)));
        });
        this.#send(request, version, signal)
          .then((body) => this.#decode(request, body, version))
          .then(resolve, reject);
      });
    } catch (error) {
      throw error instanceof BrokerError ? error : this.close(this.#translate(error));
    } finally {
      deadline?.cancel();
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
    this.#ended.abort(this.#failure);
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
        new ConnectionError(
          `The connection to ${this.address} was closed by the other side.${this.#adviceOnHangUp()}`,
        ),
      );
    });
    this.#inner.socket?.setNoDelay(true);
    await abortable(connecting, this.#ended.signal);
    if (this.#failure) throw this.#failure;
    const { versions, features } = await this.#askVersions();
    this.#versions = versions;
    this.#features = features;
    this.#inner.setVersions(versions);
    this.#inner.setSupportAuthenticationProtocol(versions[36] !== undefined);
    await within(this.#options.runtime, AUTHENTICATION_TIMEOUT_MS, this.#authenticate(), () =>
      this.close(this.#timedOut('the authentication', AUTHENTICATION_TIMEOUT_MS)),
    );
  }

  async #askVersions(): Promise<ApiVersionsAnswer> {
    const options = { timeoutMs: this.#options.connectionTimeoutMs };
    const answer = await this.exchange(apiVersionsRequest(3), options);
    if (answer.code !== UNSUPPORTED_VERSION) return answer;
    return this.exchange(apiVersionsRequest(2), options);
  }

  async #authenticate(): Promise<void> {
    if (!this.#authentication?.isDue) return;
    try {
      await abortable(this.#authentication.perform(), this.#ended.signal);
    } catch (error) {
      // Nothing else may be sent on it any more.
      throw this.close(error as BrokerError);
    }
  }

  /** Encoding may be asynchronous and authenticating again is: a chain keeps the order of the calls. */
  async #send<T>(
    request: ApiRequest<T>,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<Buffer> {
    const turn = this.#order.then(async () => {
      // A broker over whose quota we are answers nothing meanwhile (KIP-219): what waited there would seem lost.
      if (this.#restMs > 0) await sleep(this.#options.runtime, this.#restMs, this.#ended.signal);
      if (request.apiKey !== API_VERSIONS) await this.#authenticate();
      if (signal?.aborted) throw new ConnectionError('The request was given up before it left.');
      // At last, because some decide only now what they say: waiting, they may have lost whom they speak for.
      const body = await request.encode(version);
      if (this.#failure) throw this.#failure;
      return { answer: this.#push(request, version, body) };
    });
    this.#order = turn.catch(() => undefined);
    return (await turn).answer;
  }

  #push<T>(request: ApiRequest<T>, apiVersion: number, body: Buffer): Promise<Buffer> {
    const { apiKey, apiName } = request;
    const correlationId = this.#inner.nextCorrelationId();
    const header = requestHeader(request, {
      version: apiVersion,
      correlationId,
      clientId: this.#inner.clientId,
      bodyLength: body.length,
    });
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

  async #decode<T>(request: ApiRequest<T>, payload: Buffer, version: number): Promise<T> {
    const body = hasTaggedHeader(request, version) ? payload.subarray(1) : payload;
    try {
      const answer = await request.decode(body, version);
      this.#rest(request.throttleTimeMs?.(body, version) ?? 0);
      this.#isProven ||= request.apiKey !== API_VERSIONS;
      return answer;
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
    if (request.apiKey === API_VERSIONS) return request.versions[0] as number;
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
    const reason = error instanceof Error ? error : new Error(String(error));
    const message = this.#isProven
      ? `The connection to ${this.address} broke: ${reason.message}.`
      : `Could not connect to ${this.address}: ${reason.message.trim()}.${adviceOnFailure(reason, this.#options)}`;
    return new ConnectionError(message, { cause: error });
  }

  /** A rest that the broker asks for meanwhile is added: what was sent before waits there for as long. */
  #deadline(timeoutMs: number, onLate: () => void): Timer {
    const { runtime } = this.#options;
    let restUntil = Math.max(this.#restUntil, runtime.monotonic());
    const longest = restUntil + LONGEST_REST_MS;
    const arm = (delayMs: number): Timer =>
      runtime.setTimer(() => {
        const moreMs = Math.min(this.#restUntil, longest) - restUntil;
        if (moreMs <= 0) return onLate();
        restUntil += moreMs;
        timer = arm(moreMs);
      }, delayMs);
    let timer = arm(this.#restMs + timeoutMs);
    return { cancel: () => timer.cancel() };
  }

  get #restMs(): number {
    return Math.max(0, this.#restUntil - this.#options.runtime.monotonic());
  }

  #rest(askedMs: number): void {
    if (askedMs <= 0) return;
    const until = this.#options.runtime.monotonic() + Math.min(askedMs, LONGEST_REST_MS);
    this.#restUntil = Math.max(this.#restUntil, until);
  }

  #adviceOnHangUp(): string {
    return this.#isProven ? '' : adviceOnHangUp(this.#options);
  }
}

/** The answer to ApiVersions has the oldest header always: who reads it does not know yet what the broker speaks. */
function hasTaggedHeader<T>(request: ApiRequest<T>, version: number): boolean {
  return isFlexible(request, version) && request.apiKey !== API_VERSIONS;
}
