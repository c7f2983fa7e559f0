import type { TopicDescription } from '../../port/admin.js';
import { describeTopic, type MemoryCluster } from '../broker/memory-cluster.js';
import type { RequestHandler } from '../broker/network.js';
import type { RequestScope } from '../broker/faults/request-scope.js';

export interface RequestLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The connection of one driver to the broker. */
export class Connection {
  constructor(
    readonly cluster: MemoryCluster,
    readonly clientId: string,
    readonly requestTimeoutMs: number,
  ) {}

  call<T>(
    about: Omit<RequestScope, 'clientId'>,
    effect: RequestHandler<T>,
    { timeoutMs = this.requestTimeoutMs, signal }: RequestLimits = {},
  ): Promise<T> {
    const scope = { ...about, clientId: this.clientId };
    return this.cluster.network.call(scope, effect, { timeoutMs, signal });
  }

  /** Describes topics. A topic that does not exist is left out, and never created. */
  metadata(names?: readonly string[], call?: RequestLimits): Promise<readonly TopicDescription[]> {
    const partitions = names?.map((topic) => ({ topic, partition: -1 }));
    const read = (): readonly TopicDescription[] => {
      const { topics } = this.cluster;
      const found = names ? names.flatMap((name) => topics.find(name) ?? []) : topics.all();
      return found.map(describeTopic);
    };
    return this.call({ operation: 'metadata', partitions }, read, call);
  }
}
