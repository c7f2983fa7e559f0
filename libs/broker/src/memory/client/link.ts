import type { TopicDescription } from '../../port/admin.js';
import { describeTopic, type Cluster } from '../broker/cluster.js';
import type { Effect } from '../broker/network.js';
import type { RequestScope } from '../broker/request-scope.js';

export interface LinkCall {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One driver's way to the broker. */
export class Link {
  constructor(
    readonly cluster: Cluster,
    readonly clientId: string,
    readonly requestTimeoutMs: number,
  ) {}

  call<T>(
    about: Omit<RequestScope, 'clientId'>,
    effect: Effect<T>,
    { timeoutMs = this.requestTimeoutMs, signal }: LinkCall = {},
  ): Promise<T> {
    const scope = { ...about, clientId: this.clientId };
    return this.cluster.network.call(scope, effect, { timeoutMs, signal });
  }

  /** A topic that does not exist is left out: asking never creates one. */
  metadata(names?: readonly string[], call?: LinkCall): Promise<readonly TopicDescription[]> {
    const partitions = names?.map((topic) => ({ topic, partition: -1 }));
    const read = (): readonly TopicDescription[] => {
      const { topics } = this.cluster;
      const found = names ? names.flatMap((name) => topics.find(name) ?? []) : topics.all();
      return found.map(describeTopic);
    };
    return this.call({ operation: 'metadata', partitions }, read, call);
  }
}
