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
  type ApiVersionsResponse,
  type BrokerVersions,
} from '../requests/api-versions-request.js';
import { Reauthentication } from './reauthentication.js';
import { NO_FEATURES, type FinalizedFeatures } from '../cluster/cluster-features.js';
import { adviceOnFailure, adviceOnHangUp } from './connect-advice.js';
import { connectionReasonOf } from './connection-reason.js';
import {
  createKafkajsConnection,
  type KafkajsConnectionOptions,
} from './create-kafkajs-connection.js';
import { isFlexible, requestHeader } from './request-header.js';
import type { KafkajsConnection } from './kafkajs-connection.js';

export interface ConnectionOptions extends KafkajsConnectionOptions {
  readonly runtime: Runtime;
}

export interface ExchangeOptions {
  /**
   * The time from the call to the response, without throttling. When it has passed, the connection
   * is closed, because all later responses would wait behind the missing one.
   */
  readonly timeoutMs: number;
  /**
   * A request whose signal aborts before it is sent is never sent, because it would arrive after
   * the request that replaced it.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The longest throttle time that the connection accepts. Brokers request about 10 s at most. */
const MAX_THROTTLE_MS = 60_000;

/**
 * The timeout of the whole authentication, including the user's token provider. kafkajs itself
 * would wait forever.
 */
const AUTHENTICATION_TIMEOUT_MS = 10_000;

/**
 * A connection of kafkajs (socket, TLS, SASL, framing) that is used only once. After any failure
 * the socket is destroyed and a new connection is created. If kafkajs reconnected, it would keep
 * the bytes of an incomplete response, which would break the next response.
 */
export class Connection {
  readonly #inner: KafkajsConnection;
  readonly #options: ConnectionOptions;
  readonly #authentication: Reauthentication | undefined;
  readonly #onClosed = new Set<(error: BrokerError) => void>();
  /**
   * Aborts when the connection is closed. kafkajs then neither resolves nor rejects a pending
   * connect or authentication.
   */
  readonly #ended = new AbortController();
  #opening: Promise<void> | undefined;
  #versions: BrokerVersions = {};
  #features = NO_FEATURES;
  /** True after a response that proves that the listener uses the expected protocol. */
  #isProtocolConfirmed = false;
  #failure: BrokerError | undefined;
  #throttledUntil = 0;
  #sendQueue: Promise<unknown> = Promise.resolve();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#inner = createKafkajsConnection(options, (cause) => {
      const message = `${this.address} does not speak Kafka's protocol.${this.#adviceOnHangUp()}`;
      this.close(new MalformedResponseError(message, { cause }));
    });
    if (options.sasl)
      this.#authentication = new Reauthentication(this.#inner, this.address, options.runtime);
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

  /** The cluster's features, as the broker knew them when the connection was opened. */
  get features(): FinalizedFeatures {
    return this.#features;
  }

  /**
   * True while the broker throttles this client (KIP-219). Requests wait here until the throttle
   * time has passed.
   */
  get isThrottled(): boolean {
    return this.#throttleLeftMs > 0;
  }

  /** The number of requests that wait for a response. */
  get inFlight(): number {
    return this.#inner.requestQueue.inflight.size + this.#inner.requestQueue.pending.length;
  }

  onClosed(listener: (error: BrokerError) => void): void {
    this.#onClosed.add(listener);
  }

  /** Connects, requests the broker's versions and authenticates. All callers share one attempt. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      throw this.close(this.#toBrokerError(error));
    });
    return this.#opening;
  }

  /** Sends the request and returns its response. Requests are sent in the order of the calls. */
  async exchange<T>(request: ApiRequest<T>, { timeoutMs, signal }: ExchangeOptions): Promise<T> {
    if (this.#failure) throw this.#failure;
    const version = this.#negotiateVersion(request);
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
      throw error instanceof BrokerError ? error : this.close(this.#toBrokerError(error));
    } finally {
      deadline?.cancel();
    }
  }

  /**
   * Rejects all waiting requests and destroys the socket. Returns the first reason for which the
   * connection was closed.
   */
  close(reason?: BrokerError): BrokerError {
    if (this.#failure) return this.#failure;
    this.#failure = reason ?? new ClosedError(`The connection to ${this.address} was closed.`);
    this.#inner.requestQueue.rejectAll(this.#failure);
    this.#inner.requestQueue.destroy();
    this.#inner.connectionStatus = 'disconnected';
    // The error makes kafkajs cancel its connect timeout, which would otherwise keep the process
    // alive.
    this.#inner.socket?.destroy(this.#failure);
    this.#ended.abort(this.#failure);
    for (const listener of this.#onClosed) listener(this.#failure);
    this.#onClosed.clear();
    return this.#failure;
  }

  async #open(): Promise<void> {
    // The connection was closed before it was opened. A socket that is opened now would never be
    // closed.
    if (this.#failure) throw this.#failure;
    const connecting = this.#inner.connect();
    // kafkajs listens only to 'end' and 'error', and a socket that is destroyed without an error
    // emits neither.
    this.#inner.socket?.on('close', () => {
      this.close(
        new ConnectionError(
          `The connection to ${this.address} was closed by the other side.${this.#adviceOnHangUp()}`,
        ),
      );
    });
    // Disables Nagle's algorithm, so that a small request does not wait for more bytes.
    this.#inner.socket?.setNoDelay(true);
    await abortable(connecting, this.#ended.signal);
    if (this.#failure) throw this.#failure;
    const { versions, features } = await this.#fetchVersions();
    this.#versions = versions;
    this.#features = features;
    this.#inner.setVersions(versions);
    // API key 36 is SaslAuthenticate.
    this.#inner.setSupportAuthenticationProtocol(versions[36] !== undefined);
    await within(this.#options.runtime, AUTHENTICATION_TIMEOUT_MS, this.#authenticate(), () =>
      this.close(this.#timedOut('the authentication', AUTHENTICATION_TIMEOUT_MS)),
    );
  }

  async #fetchVersions(): Promise<ApiVersionsResponse> {
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
      // The connection cannot be used after a failed authentication.
      throw this.close(error as BrokerError);
    }
  }

  /**
   * A chain of promises keeps the order of the calls, because the encoding and a renewed
   * authentication are asynchronous.
   */
  async #send<T>(
    request: ApiRequest<T>,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<Buffer> {
    const turn = this.#sendQueue.then(async () => {
      // A broker answers nothing while it throttles a client that exceeds its quota (KIP-219).
      // Requests that were sent then would time out.
      if (this.#throttleLeftMs > 0)
        await sleep(this.#options.runtime, this.#throttleLeftMs, this.#ended.signal);
      if (request.apiKey !== API_VERSIONS) await this.#authenticate();
      if (signal?.aborted) throw new ConnectionError('The request was aborted before it was sent.');
      // Encodes the request as the last step, because some requests decide their content only now:
      // their callers may have aborted while the request waited.
      const body = await request.encode(version);
      if (this.#failure) throw this.#failure;
      return { answer: this.#push(request, version, body) };
    });
    this.#sendQueue = turn.catch(() => undefined);
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
          // Sends the header and the body as one packet.
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
      this.#throttle(request.throttleTimeMs?.(body, version) ?? 0);
      this.#isProtocolConfirmed ||= request.apiKey !== API_VERSIONS;
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

  #negotiateVersion<T>(request: ApiRequest<T>): number {
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

  #toBrokerError(error: unknown): BrokerError {
    if (this.#failure) return this.#failure;
    if (error instanceof BrokerError) return error;
    const reason = connectionReasonOf(error);
    const message = this.#isProtocolConfirmed
      ? `The connection to ${this.address} broke: ${reason}.`
      : `Could not connect to ${this.address}: ${reason}.${adviceOnFailure(error, this.#options)}`;
    return new ConnectionError(message, { cause: error });
  }

  /**
   * Adds the throttle time that the broker requests during the wait, because the broker delays
   * earlier requests by the same time.
   */
  #deadline(timeoutMs: number, onLate: () => void): Timer {
    const { runtime } = this.#options;
    let throttledUntil = Math.max(this.#throttledUntil, runtime.monotonic());
    const longest = throttledUntil + MAX_THROTTLE_MS;
    const arm = (delayMs: number): Timer =>
      runtime.setTimer(() => {
        const moreMs = Math.min(this.#throttledUntil, longest) - throttledUntil;
        if (moreMs <= 0) return onLate();
        throttledUntil += moreMs;
        timer = arm(moreMs);
      }, delayMs);
    let timer = arm(this.#throttleLeftMs + timeoutMs);
    return { cancel: () => timer.cancel() };
  }

  get #throttleLeftMs(): number {
    return Math.max(0, this.#throttledUntil - this.#options.runtime.monotonic());
  }

  #throttle(askedMs: number): void {
    if (askedMs <= 0) return;
    const until = this.#options.runtime.monotonic() + Math.min(askedMs, MAX_THROTTLE_MS);
    this.#throttledUntil = Math.max(this.#throttledUntil, until);
  }

  #adviceOnHangUp(): string {
    return this.#isProtocolConfirmed ? '' : adviceOnHangUp(this.#options);
  }
}

/**
 * The response to ApiVersions always has the oldest header, because a client does not know the
 * broker's versions yet.
 */
function hasTaggedHeader<T>(request: ApiRequest<T>, version: number): boolean {
  return isFlexible(request, version) && request.apiKey !== API_VERSIONS;
}
