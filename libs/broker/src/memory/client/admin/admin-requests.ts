import { RequestTimeoutError, UnknownPartitionError } from '../../../port/errors.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import type { MemoryCluster } from '../../broker/memory-cluster.js';
import type { RequestScope } from '../../broker/faults/request-scope.js';
import type { Connection } from '../connection.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';

/**
 * Sends requests of an admin session. Retries while that can help, and at most until the request
 * timeout.
 */
export class AdminRequests {
  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
  ) {}

  async run<T>(
    about: Omit<RequestScope, 'clientId'>,
    ask: (cluster: MemoryCluster) => T,
    options: { readonly topic?: string } = {},
  ): Promise<T> {
    const { runtime } = this.connection.cluster;
    const deadline = runtime.monotonic() + this.connection.requestTimeoutMs;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 1_000 });
    for (;;) {
      try {
        return await this.#once(about, ask, deadline);
      } catch (error) {
        if (this.signal.aborted) throw this.signal.reason;
        if (!isWorthRetrying(error) || runtime.monotonic() >= deadline)
          throw toBrokerError(error, options.topic);
        await sleep(runtime, backoff.next(), this.signal);
      }
    }
  }

  #once<T>(
    about: Omit<RequestScope, 'clientId'>,
    ask: (cluster: MemoryCluster) => T,
    deadline: number,
  ): Promise<T> {
    const { cluster } = this.connection;
    const timeoutMs = Math.max(1, deadline - cluster.runtime.monotonic());
    return this.connection.call(about, () => ask(cluster), { timeoutMs, signal: this.signal });
  }
}

/**
 * Returns whether a retry can help. A missing topic is a valid answer, and a timeout has used up
 * the time.
 */
function isWorthRetrying(error: unknown): boolean {
  return (
    isRetriable(error) &&
    !isRefusal(error, 'UNKNOWN_TOPIC_OR_PARTITION') &&
    !(error instanceof UnknownPartitionError) &&
    !(error instanceof RequestTimeoutError)
  );
}
