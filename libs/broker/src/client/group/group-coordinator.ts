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
  /** From the call to the answer, looking for the coordinator included. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A lookup is small; whoever waits for it has a deadline of its own. */
const LOOKUP_TIMEOUT_MS = 5_000;

/** Finds and remembers the broker that coordinates the group; one per session. */
export class GroupCoordinator {
  readonly #cluster: ClusterClient;
  readonly groupId: string;
  /** For whatever is short; see lanes.ts. */
  readonly channel: string;
  #node: number | undefined;
  #lookup: Promise<number> | undefined;

  readonly #closed = new AbortController();

  constructor(options: GroupCoordinatorOptions) {
    this.#cluster = options.cluster;
    this.groupId = options.groupId;
    this.channel = groupChannel(options.sessionId);
  }

  get metadata(): Metadata {
    return this.#cluster.metadata;
  }

  get runtime(): Runtime {
    return this.#cluster.runtime;
  }

  /** Aborts when the session closes: from then on nothing is asked, and nothing tried again. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    const reason = new ClosedError(`The session in group "${this.groupId}" was closed.`);
    this.#closed.abort(reason);
    this.#cluster.closeChannel(this.channel, reason);
  }

  /** One try; all who ask meanwhile share it. */
  node(): Promise<number> {
    if (this.#node !== undefined) return Promise.resolve(this.#node);
    this.#lookup ??= this.#findCoordinator().finally(() => (this.#lookup = undefined));
    return this.#lookup;
  }

  /** It is not the coordinator any more. Someone who says so late does not undo a newer lookup. */
  forget(node: number): void {
    if (this.#node === node) this.#node = undefined;
  }

  /**
   * Asks the coordinator, once. A deadline that passes closes the lane, so that nothing waits
   * behind the lost request and nothing of it can still arrive after what is sent next.
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
    // Not in a lane of the session: any broker can tell, and the connection would stay behind unused.
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
