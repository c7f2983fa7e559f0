import {
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
  type BrokerError,
} from '../../port/errors.js';
import { abortable, Backoff, sleep } from '../../runtime/index.js';
import { reactionTo, type ApiRequest, type Cluster, type Target } from '../../wire/index.js';

/** What the admin needs of the cluster. */
export type AdminCluster = Pick<
  Cluster,
  'request' | 'closeLane' | 'metadata' | 'runtime' | 'requestTimeoutMs'
>;

/** This attempt led nowhere, another one may. */
export class Again {
  constructor(readonly because: Error) {}
}

const BACKOFF = { initialMs: 50, maxMs: 1_000 };
const REQUEST_TIMED_OUT = 7;

/** One call of the admin: requests and repetitions, until the signal ends it. */
export class AdminCall {
  /** Why the call is not through yet. */
  trouble: Error | undefined;
  /** An earlier attempt may have had its effect, though its answer was lost. */
  inDoubt = false;
  readonly #endsAt: number;

  constructor(
    readonly cluster: AdminCluster,
    private readonly lane: string,
    readonly signal: AbortSignal,
  ) {
    this.#endsAt = cluster.runtime.monotonic() + cluster.requestTimeoutMs;
  }

  get remainingMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - this.cluster.runtime.monotonic()));
  }

  request<T>(target: Target, request: ApiRequest<T>): Promise<T> {
    const { signal, remainingMs: timeoutMs } = this;
    return this.cluster.request(target, this.lane, request, { signal, timeoutMs });
  }

  refresh(topics: readonly string[]): Promise<void> {
    return abortable(this.cluster.metadata.refresh(topics), this.signal);
  }

  /**
   * Tries until there is a result. Whatever loses contact is tried again: everything an admin does may be done twice.
   * In between it learns who leads the topics that this is about.
   */
  async repeat<T>(attempt: () => Promise<T | Again>, about: readonly string[] = []): Promise<T> {
    const backoff = new Backoff(this.cluster.runtime, BACKOFF);
    for (;;) {
      const result = await this.#try(attempt);
      if (!(result instanceof Again)) return result;
      this.#note(result.because);
      await sleep(this.cluster.runtime, backoff.next(), this.signal);
      const refreshed = await this.#try(() => this.refresh(about));
      if (refreshed instanceof Again) this.trouble = refreshed.because;
    }
  }

  async #try<T>(attempt: () => Promise<T | Again>): Promise<T | Again> {
    try {
      return await attempt();
    } catch (error) {
      this.signal.throwIfAborted();
      if (isLostContact(error)) return new Again(error);
      throw error;
    }
  }

  #note(because: Error): void {
    this.trouble = because;
    const { brokerCode } = because as Partial<BrokerError>;
    this.inDoubt ||= isLostContact(because) || brokerCode === REQUEST_TIMED_OUT;
  }
}

/** Another attempt where the code says that it may help; throws the error where not. */
export function againAfter(code: number, error: BrokerError): Again {
  const reaction = reactionTo('admin', code);
  if (reaction === 'retry' || reaction === 'refresh-metadata') return new Again(error);
  throw error;
}

export function isLostContact(error: unknown): error is Error {
  return (
    error instanceof ConnectionError ||
    error instanceof RequestTimeoutError ||
    error instanceof MalformedResponseError
  );
}
