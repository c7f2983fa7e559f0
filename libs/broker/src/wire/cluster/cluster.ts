import { ClosedError, ConnectionError, type BrokerError } from '../../port/errors.js';
import { abortable, type Runtime } from '../../runtime/index.js';
import type { ApiRequest } from '../requests/api-request.js';
import type { SaslSettings } from '../connection/authentication.js';
import { ClusterFeatures } from './cluster-features.js';
import { Connection } from '../connection/connection.js';
import { Gate } from '../connection/gate.js';
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

/** A node by its id, the controller, or whichever can be reached. */
export type Target = number | 'controller' | 'any';

export interface ClusterRequestOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The lane for short requests that many share. */
export const CONTROL_LANE = 'control';

/** Everybody waits for metadata, and another broker can tell as well: a frozen one is not waited for longer, and one that wants to be left alone is asked last. */
const METADATA_TIMEOUT_MS = 5_000;

/** Kafka's listen backlog holds 50: beyond that a connect waits for a second. */
const CONNECTS_AT_ONCE = 40;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A request on its way to a connection. Ended before it has one, it must not open one: nobody would close it. */
interface Search {
  readonly lane: string;
  readonly signal: AbortSignal | undefined;
  ended: BrokerError | undefined;
}

/**
 * The connections of one driver. A broker answers a connection strictly in order, so whatever may
 * wait long (a join, a long poll, a commit) travels in a *lane* of its own: one connection per
 * node and lane.
 */
export class Cluster {
  readonly metadata: Metadata;
  readonly features = new ClusterFeatures();
  readonly #options: ClusterOptions;
  readonly #seeds: readonly Address[];
  readonly #connections = new Map<string, Connection>();
  readonly #connecting = new Gate(CONNECTS_AT_ONCE);
  readonly #searches = new Set<Search>();
  #turn = 0;
  #closed = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#seeds = options.brokers.map(parseAddress);
    this.metadata = new Metadata(options.runtime, (topics) =>
      this.request('any', CONTROL_LANE, metadataRequest(topics), {
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
    lane: string,
    request: ApiRequest<T>,
    options: ClusterRequestOptions = {},
  ): Promise<T> {
    const timeoutMs = options.timeoutMs ?? this.#options.requestTimeoutMs;
    const answer = this.#find(target, lane, options.signal).then((connection) => {
      // Given up while the connection was opened: sent now, it would arrive after what replaced it.
      options.signal?.throwIfAborted();
      return connection.exchange(request, { timeoutMs, signal: options.signal });
    });
    return abortable(answer, options.signal);
  }

  /** Destroys the lane's connections; requests that wait in it, or for a connection of it, are rejected. */
  closeLane(lane: string, reason?: BrokerError): void {
    for (const search of this.#searches)
      if (search.lane === lane) search.ended = reason ?? new ClosedError('The lane was closed.');
    for (const [key, connection] of this.#connections)
      if (key.endsWith(`/${lane}`)) connection.close(reason);
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections.values())
      connection.close(new ClosedError('The driver was closed.'));
    this.#connections.clear();
  }

  async #find(target: Target, lane: string, signal?: AbortSignal): Promise<Connection> {
    const search: Search = { lane, signal, ended: undefined };
    this.#searches.add(search);
    try {
      return await this.#connection(target, search);
    } finally {
      this.#searches.delete(search);
    }
  }

  async #connection(target: Target, search: Search): Promise<Connection> {
    if (target === 'any') return this.#anyConnection(search);
    if (target === 'controller') {
      if (!this.metadata.brokers.has(this.metadata.controllerId)) await this.metadata.refresh([]);
      return this.#connection(this.metadata.controllerId, search);
    }
    const node = this.metadata.brokers.get(target) ?? (await this.#learnNode(target));
    return this.#open(String(target), node, search);
  }

  async #learnNode(id: number): Promise<Address> {
    await this.metadata.refresh([]);
    const node = this.metadata.brokers.get(id);
    if (node) return node;
    throw new ConnectionError(`The cluster has no broker ${id} at the moment.`);
  }

  async #anyConnection(search: Search): Promise<Connection> {
    const candidates = this.#candidates();
    for (const [id] of candidates) {
      const connection = this.#connections.get(`${id}/${search.lane}`);
      if (connection && !connection.failed && !connection.isResting) return this.#ready(connection);
    }
    const failures: Error[] = [];
    for (const [id, address] of this.#restingLast(this.#rotate(candidates), search.lane)) {
      try {
        return await this.#open(id, address, search);
      } catch (error) {
        if (this.#closed || isOver(search) || !(error as BrokerError).retriable) throw error;
        failures.push(error as Error);
      }
    }
    throw new ConnectionError(
      `No broker could be reached. ${failures.map(({ message }) => message).join(' ')} Check the broker addresses and the network between.`,
      { cause: failures[0] },
    );
  }

  #candidates(): (readonly [id: string, address: Address])[] {
    return [
      ...[...this.metadata.brokers].map(([id, node]) => [String(id), node] as const),
      ...this.#seeds.map((address) => [`seed ${address.host}:${address.port}`, address] as const),
    ];
  }

  /** What is asked there waits until the broker takes requests again: another one tells sooner. */
  #restingLast<T extends readonly [id: string, address: Address]>(
    candidates: readonly T[],
    lane: string,
  ): readonly T[] {
    const rests = ([id]: T) => this.#connections.get(`${id}/${lane}`)?.isResting === true;
    return [...candidates.filter((each) => !rests(each)), ...candidates.filter(rests)];
  }

  #rotate<T>(items: readonly T[]): readonly T[] {
    const from = this.#turn++ % Math.max(items.length, 1);
    return [...items.slice(from), ...items.slice(0, from)];
  }

  async #open(id: string, { host, port }: Address, search: Search): Promise<Connection> {
    if (this.#closed) throw new ClosedError('The driver was closed.');
    search.signal?.throwIfAborted();
    if (search.ended) throw search.ended;
    const key = `${id}/${search.lane}`;
    const known = this.#connections.get(key);
    if (known && !known.failed && known.address === `${host}:${port}`) return this.#ready(known);
    known?.close(new ConnectionError(`The broker moved to ${host}:${port}.`));
    const { clientId, connectionTimeoutMs, ssl, sasl, runtime } = this.#options;
    const connection = new Connection({
      host,
      port,
      clientId,
      connectionTimeoutMs,
      ssl,
      sasl,
      runtime,
    });
    this.#connections.set(key, connection);
    connection.onClosed(() => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
    await this.#connecting.pass(() => connection.open());
    this.features.learn(connection.features);
    return connection;
  }

  async #ready(connection: Connection): Promise<Connection> {
    await connection.open();
    return connection;
  }
}

function isOver({ ended, signal }: Search): boolean {
  return ended !== undefined || signal?.aborted === true;
}

function parseAddress(broker: string): Address {
  const [, host = '', port = ''] = /^(?:\[?(.+?)\]?):(\d+)$/.exec(broker) ?? [];
  return { host, port: Number(port) };
}
