import {
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
  type BrokerError,
} from '../../port/errors.js';
import { abortable, Backoff, sleep } from '../../runtime/index.js';
import { reactionTo, type ApiRequest, type Target, type ClusterClient } from '../../wire/index.js';

/** The result of an attempt that failed and that the admin may repeat. */
export class Retry {
  constructor(readonly reason: Error) {}
}

const BACKOFF = { initialMs: 50, maxMs: 1_000 };
const REQUEST_TIMED_OUT = 7;

/** A call of the admin with all its attempts. It ends when its signal aborts. */
export class AdminCall {
  /** The error of the latest attempt. At the deadline the call rejects with this error. */
  lastError: Error | undefined;
  /** True if an earlier attempt may have taken effect, although its response was lost. */
  mayHaveTakenEffect = false;
  readonly #endsAt: number;

  constructor(
    readonly cluster: ClusterClient,
    private readonly channel: string,
    readonly signal: AbortSignal,
  ) {
    this.#endsAt = cluster.runtime.monotonic() + cluster.requestTimeoutMs;
  }

  get remainingMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - this.cluster.runtime.monotonic()));
  }

  request<T>(target: Target, request: ApiRequest<T>): Promise<T> {
    const { signal, remainingMs: timeoutMs } = this;
    return this.cluster.request(target, this.channel, request, { signal, timeoutMs });
  }

  refresh(topics: readonly string[]): Promise<void> {
    return abortable(this.cluster.metadata.refresh(topics), this.signal);
  }

  /**
   * Repeats the attempt until it has a result. A lost connection is always retried, because a
   * second execution of an admin request does no harm. Before a retry the metadata of the topics in
   * `about` are refreshed.
   */
  async repeat<T>(attempt: () => Promise<T | Retry>, about: readonly string[] = []): Promise<T> {
    const backoff = new Backoff(this.cluster.runtime, BACKOFF);
    for (;;) {
      const result = await this.#try(attempt);
      if (!(result instanceof Retry)) return result;
      this.#noteFailure(result.reason);
      await sleep(this.cluster.runtime, backoff.next(), this.signal);
      const refreshed = await this.#try(() => this.refresh(about));
      if (refreshed instanceof Retry) this.lastError = refreshed.reason;
    }
  }

  async #try<T>(attempt: () => Promise<T | Retry>): Promise<T | Retry> {
    try {
      return await attempt();
    } catch (error) {
      this.signal.throwIfAborted();
      if (isConnectionLost(error)) return new Retry(error);
      throw error;
    }
  }

  #noteFailure(because: Error): void {
    this.lastError = because;
    const { brokerCode } = because as Partial<BrokerError>;
    // A broker may answer REQUEST_TIMED_OUT and still make the change later.
    this.mayHaveTakenEffect ||= isConnectionLost(because) || brokerCode === REQUEST_TIMED_OUT;
  }
}

/** Returns a retry if the code is retriable, and throws the error otherwise. */
export function retryOrThrow(code: number, error: BrokerError): Retry {
  const reaction = reactionTo('admin', code);
  if (reaction === 'retry' || reaction === 'refresh-metadata') return new Retry(error);
  throw error;
}

export function isConnectionLost(error: unknown): error is Error {
  return (
    error instanceof ConnectionError ||
    error instanceof RequestTimeoutError ||
    error instanceof MalformedResponseError
  );
}
