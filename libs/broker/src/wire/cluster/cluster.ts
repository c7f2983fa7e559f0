import { errorReasonOf } from '../../port/error-text.js';
import { ClosedError, ConnectionError, type BrokerError } from '../../port/errors.js';
import { abortable, type Runtime } from '../../runtime/index.js';
import type { ApiRequest } from '../requests/api-request.js';
import type { SaslSettings } from '../connection/oauth-bearer.js';
import type { ClusterClient, ClusterRequestOptions, Target } from './cluster-client.js';
import { ClusterFeatures } from './cluster-features.js';
import { Connection } from '../connection/connection.js';
import { ConcurrencyLimiter } from './concurrency-limiter.js';
import { Metadata } from './metadata.js';
import { metadataRequest } from '../requests/metadata-request.js';

export interface ClusterOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly connectionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly ssl?: unknown;
  readonly sasl?: SaslSettings;
  readonly runtime: Runtime;
}

/** The shared channel for short requests. */
export const CONTROL_CHANNEL = 'control';

/**
 * The timeout of a metadata request. All sessions wait for metadata, and any broker can answer. A
 * broker that does not respond is therefore given up early, and a throttled broker is asked last.
 */
const METADATA_TIMEOUT_MS = 5_000;

/**
 * The limit of connections that are opened at the same time. Kafka's listen backlog is 50, and
 * above it a connection attempt waits for a second.
 */
const MAX_CONCURRENT_CONNECTS = 40;

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * A request that waits for its connection. If the request ends before, no connection may be opened
 * for it, because that connection would never be closed.
 */
interface ConnectionLookup {
  readonly channel: string;
  readonly signal: AbortSignal | undefined;
  ended: BrokerError | undefined;
}

/**
 * The connections of one driver. A broker answers the requests of a connection strictly in order.
 * Requests that may wait long (a join, a long poll, a commit) therefore have a *channel* of their
 * own, with one connection per node.
 */
export class Cluster implements ClusterClient {
  readonly metadata: Metadata;
  readonly features = new ClusterFeatures();
  readonly #options: ClusterOptions;
  readonly #seeds: readonly Address[];
  readonly #connections = new Map<string, Connection>();
  readonly #connectLimiter = new ConcurrencyLimiter(MAX_CONCURRENT_CONNECTS);
  readonly #lookups = new Set<ConnectionLookup>();
  readonly #sessionClientIds = new Map<string, string>();
  #rotation = 0;
  #closed = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#seeds = options.brokers.map(parseAddress);
    this.metadata = new Metadata(options.runtime, (topics) =>
      this.request('any', CONTROL_CHANNEL, metadataRequest(topics), {
        timeoutMs: Math.min(options.requestTimeoutMs, METADATA_TIMEOUT_MS),
      }),
    );
  }

  get runtime(): Runtime {
    return this.#options.runtime;
  }

  get requestTimeoutMs(): number {
    return this.#options.requestTimeoutMs;
  }

  async request<T>(
    target: Target,
    channel: string,
    request: ApiRequest<T>,
    options: ClusterRequestOptions = {},
  ): Promise<T> {
    const timeoutMs = options.timeoutMs ?? this.#options.requestTimeoutMs;
    const answer = this.#connectionFor(target, channel, options.signal).then((connection) => {
      // The request was aborted while the connection was opened. If it were sent now, it would
      // arrive after the request that replaced it.
      options.signal?.throwIfAborted();
      return connection.exchange(request, { timeoutMs, signal: options.signal });
    });
    return abortable(answer, options.signal);
  }

  /** Sets the client id of the channels of one session. To be called before its first request. */
  nameSession(sessionId: string, clientId: string): void {
    this.#sessionClientIds.set(sessionId, clientId);
  }

  forgetSession(sessionId: string): void {
    this.#sessionClientIds.delete(sessionId);
  }

  /**
   * Destroys the connections of the channel. Requests that wait for a response or for such a
   * connection are rejected.
   */
  closeChannel(channel: string, reason?: BrokerError): void {
    for (const lookup of this.#lookups)
      if (lookup.channel === channel)
        lookup.ended = reason ?? new ClosedError('The channel was closed.');
    for (const [key, connection] of this.#connections)
      if (key.endsWith(`/${channel}`)) connection.close(reason);
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections.values())
      connection.close(new ClosedError('The driver was closed.'));
    this.#connections.clear();
  }

  async #connectionFor(target: Target, channel: string, signal?: AbortSignal): Promise<Connection> {
    const lookup: ConnectionLookup = { channel, signal, ended: undefined };
    this.#lookups.add(lookup);
    try {
      return await this.#connectionTo(target, lookup);
    } finally {
      this.#lookups.delete(lookup);
    }
  }

  async #connectionTo(target: Target, lookup: ConnectionLookup): Promise<Connection> {
    if (target === 'any') return this.#anyConnection(lookup);
    if (target === 'controller') {
      if (!this.metadata.brokers.has(this.metadata.controllerId)) await this.metadata.refresh([]);
      return this.#connectionTo(this.metadata.controllerId, lookup);
    }
    const node = this.metadata.brokers.get(target) ?? (await this.#resolveNode(target));
    return this.#open(String(target), node, lookup);
  }

  async #resolveNode(id: number): Promise<Address> {
    await this.metadata.refresh([]);
    const node = this.metadata.brokers.get(id);
    if (node) return node;
    throw new ConnectionError(
      `The cluster has no broker ${id} at the moment. Its metadata are asked for again; check that the broker is running.`,
    );
  }

  async #anyConnection(lookup: ConnectionLookup): Promise<Connection> {
    const candidates = this.#candidates();
    for (const [id] of candidates) {
      const connection = this.#connections.get(`${id}/${lookup.channel}`);
      if (connection && !connection.failed && !connection.isThrottled)
        return this.#ready(connection);
    }
    const failures: Error[] = [];
    for (const [id, address] of this.#throttledLast(this.#rotate(candidates), lookup.channel)) {
      try {
        return await this.#open(id, address, lookup);
      } catch (error) {
        if (this.#closed || isCancelled(lookup) || !(error as BrokerError).retriable) throw error;
        failures.push(error as Error);
      }
    }
    throw new ConnectionError(
      `No broker could be reached. ${failures.map(errorReasonOf).join(' ')} Check the broker addresses and the network.`,
      { cause: failures[0] },
    );
  }

  #candidates(): (readonly [id: string, address: Address])[] {
    return [
      ...[...this.metadata.brokers].map(([id, node]) => [String(id), node] as const),
      ...this.#seeds.map((address) => [`seed ${address.host}:${address.port}`, address] as const),
    ];
  }

  /** Moves throttled brokers to the end, because another broker answers sooner. */
  #throttledLast<T extends readonly [id: string, address: Address]>(
    candidates: readonly T[],
    channel: string,
  ): readonly T[] {
    const isThrottled = ([id]: T) =>
      this.#connections.get(`${id}/${channel}`)?.isThrottled === true;
    return [...candidates.filter((each) => !isThrottled(each)), ...candidates.filter(isThrottled)];
  }

  /** Starts with another candidate each time, so that requests are spread over the brokers. */
  #rotate<T>(items: readonly T[]): readonly T[] {
    const from = this.#rotation++ % Math.max(items.length, 1);
    return [...items.slice(from), ...items.slice(0, from)];
  }

  async #open(id: string, { host, port }: Address, lookup: ConnectionLookup): Promise<Connection> {
    if (this.#closed) throw new ClosedError('The driver was closed.');
    lookup.signal?.throwIfAborted();
    if (lookup.ended) throw lookup.ended;
    const key = `${id}/${lookup.channel}`;
    const known = this.#connections.get(key);
    if (known && !known.failed && known.address === `${host}:${port}`) return this.#ready(known);
    // The current connection has failed, or the broker has another address now.
    known?.close(new ConnectionError(`The broker moved to ${host}:${port}.`));
    const { connectionTimeoutMs, ssl, sasl, runtime } = this.#options;
    const connection = new Connection({
      host,
      port,
      clientId: this.#clientIdOf(lookup.channel),
      connectionTimeoutMs,
      ssl,
      sasl,
      runtime,
    });
    this.#connections.set(key, connection);
    connection.onClosed(() => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
    await this.#connectLimiter.run(() => connection.open());
    this.features.update(connection.features);
    return connection;
  }

  /** The name of a channel ends with the id of its session: see `group-channels.ts`. */
  #clientIdOf(channel: string): string {
    const sessionId = channel.slice(channel.lastIndexOf(':') + 1);
    return this.#sessionClientIds.get(sessionId) ?? this.#options.clientId;
  }

  async #ready(connection: Connection): Promise<Connection> {
    await connection.open();
    return connection;
  }
}

function isCancelled({ ended, signal }: ConnectionLookup): boolean {
  return ended !== undefined || signal?.aborted === true;
}

function parseAddress(broker: string): Address {
  const [, host = '', port = ''] = /^(?:\[?(.+?)\]?):(\d+)$/.exec(broker) ?? [];
  return { host, port: Number(port) };
}
