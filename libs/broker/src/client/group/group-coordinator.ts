import {
  ClosedError,
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
} from '../../port/errors.js';
import { abortable, type Runtime } from '../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  errorOfCode,
  findCoordinatorRequest,
  type ApiRequest,
  type Metadata,
  type ClusterClient,
} from '../../wire/index.js';
import { groupChannel } from './group-channels.js';

export interface CoordinatorAnswer<T> {
  readonly node: number;
  readonly answer: T;
}

export interface GroupCoordinatorOptions {
  readonly cluster: ClusterClient;
  readonly groupId: string;
  readonly sessionId: string;
}

export interface CoordinatorRequestOptions {
  /**
   * The timeout of the request from the call to the response, including the search for the
   * coordinator.
   */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * The timeout of a coordinator lookup. A new lookup is cheap, and its callers have their own
 * deadlines.
 */
const LOOKUP_TIMEOUT_MS = 5_000;

/** Finds the broker that coordinates the group, and caches it. A session has one instance. */
export class GroupCoordinator {
  readonly #cluster: ClusterClient;
  readonly groupId: string;
  /** The channel for short requests; see group-channels.ts. */
  readonly channel: string;
  #node: number | undefined;
  #lookup: Promise<number> | undefined;

  readonly metadata: Metadata;
  readonly runtime: Runtime;
  /** Aborts when the session closes. Afterwards no request is sent or retried. */
  readonly closed: AbortSignal;
  readonly #closed = new AbortController();

  constructor(options: GroupCoordinatorOptions) {
    this.#cluster = options.cluster;
    this.metadata = options.cluster.metadata;
    this.runtime = options.cluster.runtime;
    this.closed = this.#closed.signal;
    this.groupId = options.groupId;
    this.channel = groupChannel(options.sessionId);
  }

  close(): void {
    const reason = new ClosedError(`The session in group "${this.groupId}" was closed.`);
    this.#closed.abort(reason);
    this.#cluster.closeChannel(this.channel, reason);
  }

  /** Returns the node id of the coordinator. Calls during a lookup share its result. */
  node(): Promise<number> {
    if (this.#node !== undefined) return Promise.resolve(this.#node);
    this.#lookup ??= this.#findCoordinator().finally(() => (this.#lookup = undefined));
    return this.#lookup;
  }

  /**
   * Removes the coordinator from the cache if it is this broker. A late call for an older broker
   * therefore does not remove the result of a newer lookup.
   */
  forget(node: number): void {
    if (this.#node === node) this.#node = undefined;
  }

  /**
   * Sends one request to the coordinator, without a retry. If the timeout expires, the connection
   * is closed: later requests do not wait behind the lost one, and the lost one cannot arrive after
   * them.
   */
  async request<T>(
    channel: string,
    request: ApiRequest<T>,
    { timeoutMs = this.#cluster.requestTimeoutMs, signal }: CoordinatorRequestOptions = {},
  ): Promise<CoordinatorAnswer<T>> {
    this.closed.throwIfAborted();
    const deadline = this.#deadline(channel, request.apiName, timeoutMs);
    const giveUp = (): void => deadline.abort(signal?.reason as Error);
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
    let node: number | undefined;
    try {
      node = await abortable(this.node(), deadline.signal);
      const answer = await this.#cluster.request(node, channel, request, {
        timeoutMs,
        signal: deadline.signal,
      });
      return { node, answer };
    } catch (error) {
      if (node !== undefined && isConnectionLost(error)) this.forget(node);
      throw error;
    } finally {
      deadline.cancel();
      signal?.removeEventListener('abort', giveUp);
    }
  }

  #deadline(channel: string, apiName: string, timeoutMs: number) {
    const control = new AbortController();
    const timer = this.#cluster.runtime.setTimer(() => {
      const error = new RequestTimeoutError(
        `The coordinator of group "${this.groupId}" did not answer ${apiName} within ${timeoutMs} ms.`,
      );
      control.abort(error);
      this.#cluster.closeChannel(channel, error);
    }, timeoutMs);
    return {
      signal: control.signal,
      abort: (reason: Error) => control.abort(reason),
      cancel: () => timer.cancel(),
    };
  }

  async #findCoordinator(): Promise<number> {
    // Uses the control connection. Any broker can answer the lookup, and a separate connection
    // would stay open unused.
    const { errorCode, coordinator } = await this.#cluster.request(
      'any',
      CONTROL_CHANNEL,
      findCoordinatorRequest(this.groupId),
      { timeoutMs: Math.min(LOOKUP_TIMEOUT_MS, this.#cluster.requestTimeoutMs) },
    );
    if (errorCode !== 0)
      throw errorOfCode(errorCode, `The coordinator of group "${this.groupId}" cannot be found`);
    this.#cluster.metadata.updateAddress(coordinator.nodeId, coordinator);
    this.#node = coordinator.nodeId;
    return coordinator.nodeId;
  }
}

function isConnectionLost(error: unknown): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof RequestTimeoutError ||
    error instanceof MalformedResponseError
  );
}
